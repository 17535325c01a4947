// Hands values from one thread to another. A descriptor tells a polling thread that values wait.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace platform {

template <class T>
class Mailbox {
 public:
  Mailbox() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Mailbox() { ::close(fd_); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void put(std::vector<T> values) {
    if (values.empty()) return;
    const std::scoped_lock lock(mutex_);
    values_.insert(values_.end(), std::make_move_iterator(values.begin()),
                   std::make_move_iterator(values.end()));
    wake();
  }

  /// Makes fd() readable, even without a value.
  void wake() {
    const std::uint64_t one = 1;
    // The write fails only if the counter of the eventfd is full. Then fd() is readable already.
    [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
  }

  /// Returns all values so far, in order; does not wait for a value.
  std::vector<T> take() {
    const std::scoped_lock lock(mutex_);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(fd_, &count, sizeof count);
    return std::exchange(values_, {});
  }

  /// Readable after put() or wake() until take(). Owned by this object.
  int fd() const { return fd_; }

 private:
  int fd_;
  std::mutex mutex_;
  std::vector<T> values_;
};

}  // namespace platform
