// Descriptors that are waited for together (epoll): what a wait costs does not grow with how many there are.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "lib/platform/clock.hpp"

namespace dispatcher {

class Poller {
 public:
  /// Throws std::system_error.
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// From now on `fd` is watched for this, instead of what it was watched for. Throws std::system_error.
  void watch(int fd, bool read, bool write);
  /// No longer; nothing happens if it was not, or is closed.
  void forget(int fd) noexcept;

  struct Event {
    int fd;
    bool read;
    bool write;
    bool error;  // also that the other side hung up
  };
  /// What is ready, at once or within `longest`; a signal ends the wait early. Valid until the next call.
  std::span<const Event> wait(platform::Milliseconds longest);

 private:
  int fd_;
  std::array<Event, 256> ready_{};
};

}  // namespace dispatcher
