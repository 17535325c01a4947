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

  /// Everything that came before this time has been returned by wait(). Time-outs are judged as of this time,
  /// so that what a socket holds is read first.
  platform::MonotonicTime read_until() const { return read_until_; }
  /// True: the thread that waits here has not run for longest_lag or more, at some time since `time`: the
  /// process was stopped or its cgroup frozen, the machine was paused, or the thread was very busy.
  bool stopped_since(platform::MonotonicTime time) const;
  static constexpr platform::Milliseconds longest_lag{1000};
  /// How long the thread worked between the last two calls of wait().
  platform::MonotonicTime::duration last_round() const { return last_round_; }

 private:
  int fd_;
  platform::MonotonicTime read_until_{};
  platform::MonotonicTime unread_since_{};
  platform::MonotonicTime::duration last_round_{};
  platform::MonotonicTime stopped_until_{};
  platform::MonotonicTime ran_ = platform::monotonic_now();  // when the last wait() returned
  std::array<Event, 256> ready_{};
};

}  // namespace dispatcher
