#include "lib/metrics/memory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace metrics {

namespace {

[[noreturn]] void fail(const std::string& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// The header of a file: its format and the meaning of its cells, padded so that the cells are aligned.
std::string header_of(std::string_view layout) {
  std::string header = "apientidades metrics 1\n" + std::string(layout);
  header.resize((header.size() / sizeof(Cell) + 1) * sizeof(Cell));
  return header;
}

bool has(int fd, const std::string& header, std::size_t size) {
  struct stat status;
  if (::fstat(fd, &status) != 0 || static_cast<std::size_t>(status.st_size) != size) return false;
  std::string found(header.size(), '\0');
  return ::pread(fd, found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) && found == header;
}

/// A folder, a device or a link of that name is not ours to replace.
void require_replaceable(const std::string& file) {
  struct stat status;
  if (::lstat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(file + " is no regular file", EEXIST);
}

/// Gives the file its name only when it is complete, so that a kill leaves no incomplete file of that name.
void make(const std::string& file, std::size_t size, const std::string& header) {
  const std::string draft = file + ".new";
  const Descriptor fd(::open(draft.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.get() < 0) fail(draft);
  // Allocates every page now: on a full file system, a later write to the mapping would raise SIGBUS.
  if (const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size)); error != 0)
    fail(draft, error);
  if (::pwrite(fd.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size())) fail(draft);
  if (::rename(draft.c_str(), file.c_str()) != 0) fail(file);
}

}  // namespace

Memory::Memory(std::size_t cells) { map(-1, 0, cells); }

Memory::Memory(const std::string& file, std::size_t cells, std::string_view layout) {
  const auto header = header_of(layout);
  const auto size = header.size() + cells * sizeof(Cell);
  require_replaceable(file);
  // Processes that start together take turns. The kernel releases the lock even if this process is killed.
  const std::string lock_file = file + ".lock";
  const Descriptor lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX) != 0) fail(lock_file);
  const auto open = [&] { return ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW); };
  if (const Descriptor known(open()); known.get() >= 0 && has(known.get(), header, size)) {
    map(known.get(), header.size(), cells);
    return;
  }
  make(file, size, header);
  const Descriptor made(open());
  if (made.get() < 0) fail(file);
  map(made.get(), header.size(), cells);
}

Memory::~Memory() { ::munmap(address_, size_); }

void Memory::map(int fd, std::size_t header, std::size_t cells) {
  size_ = header + cells * sizeof(Cell);
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  address_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address_ == MAP_FAILED) fail("the memory of the metrics");
  auto* const first = static_cast<std::byte*>(address_) + header;
  cells_ = {std::launder(reinterpret_cast<Cell*>(first)), cells};
}

}  // namespace metrics
