// systemd's watchdog (WatchdogSec= of the unit): who does not say in time that work goes on is ended and
// started anew.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>

#include "lib/platform/clock.hpp"

namespace platform {

/// When a thread last went on: beaten by that thread (or several), read by another.
class Heartbeat {
 public:
  Heartbeat() { beat(); }
  void beat() { last_ = monotonic_now().time_since_epoch().count(); }
  Milliseconds age(MonotonicTime now) const;

 private:
  std::atomic<MonotonicTime::rep> last_{};
};

/// Used by one thread.
class Watchdog {
 public:
  /// As the service manager asks for (WATCHDOG_USEC, WATCHDOG_PID); nothing when nobody watches.
  Watchdog();
  /// `limit`: after this long without a word the program is ended; nullopt: nobody watches.
  explicit Watchdog(std::optional<Milliseconds> limit) : limit_(limit) {}

  /// Says that work goes on (WATCHDOG=1), but no oftener than it must: call it at every turn. True when it
  /// said so.
  bool feed(MonotonicTime now);
  /// As above, unless one of `others` has stood still for half of the limit.
  bool feed_if(std::initializer_list<std::reference_wrapper<const Heartbeat>> others, MonotonicTime now);

  /// How long a thread that feeds may wait: a quarter of the limit; an hour when nobody watches.
  Milliseconds interval() const;

 private:
  std::optional<Milliseconds> limit_;
  std::optional<MonotonicTime> fed_;
};

}  // namespace platform
