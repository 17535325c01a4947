// Where counts are kept: 64-bit cells that threads, or processes, change without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace metrics {

using Cell = std::atomic<std::uint64_t>;
static_assert(Cell::is_always_lock_free);  // or processes could not share them

/// A mapping of cells, zero to begin with. Not copyable.
class Memory {
 public:
  /// Of this process alone. Throws std::system_error.
  explicit Memory(std::size_t cells);

  /// Shared by every process that names the file, now and later: what one has counted stays when it ends,
  /// however it ends. The file is made if need be, readable by its owner alone. `layout` says what the cells
  /// mean: a file of another layout is put aside for a new one, and who has it mapped goes on with the old.
  /// Throws std::system_error, also when there is no room for the file: nothing can fail afterwards.
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
