// The memory of the metrics: 64-bit cells that threads or processes change without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace metrics {

using Cell = std::atomic<std::uint64_t>;
static_assert(Cell::is_always_lock_free);  // a lock could not be shared between processes

/// A memory mapping of cells. New cells are zero.
class Memory {
 public:
  /// Cells of this process alone. Throws std::system_error.
  explicit Memory(std::size_t cells);

  /// Cells that all processes with the same `file` share. Counts survive the processes, even a kill. Creates
  /// the file if needed, readable by its owner alone. `layout` describes the meaning of the cells: a file
  /// with another layout is replaced by a new file. A process that has mapped the old file keeps using
  /// the old file.
  /// Throws std::system_error, also when the file system has no room for the file, or when `file` is no
  /// regular file.
  Memory(const std::string& file, std::size_t cells, std::string_view layout);

  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::span<Cell> cells() const { return cells_; }

 private:
  void map(int fd, std::size_t header, std::size_t cells);

  void* address_ = nullptr;
  std::size_t size_ = 0;
  std::span<Cell> cells_;
};

}  // namespace metrics
