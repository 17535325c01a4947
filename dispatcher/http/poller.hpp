// Waits for many descriptors (epoll): the cost of a wait does not grow with their number.
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

  /// Watches `fd` for reading, writing or both; replaces what an earlier call asked for `fd`. Throws
  /// std::system_error.
  void watch(int fd, bool read, bool write);
  /// Stops watching; does nothing if `fd` is not watched or is closed.
  void forget(int fd) noexcept;

  struct Event {
    int fd;
    bool read;
    bool write;
    bool error;  // an error, or the other side hung up
  };
  /// Waits for an event, a signal or the end of `longest`. Returns the events, perhaps none; they are valid
  /// until the next call.
  std::span<const Event> wait(platform::Milliseconds longest);

 private:
  int fd_;
  std::array<Event, 256> ready_{};
};

}  // namespace dispatcher
