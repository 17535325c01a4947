// systemd's watchdog (WatchdogSec= of the unit): systemd restarts a program that does not report progress in
// time.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>

#include "lib/platform/clock.hpp"

namespace platform {

/// The time of the last progress of one or several threads. They call beat(); any other thread may call
/// age().
class Heartbeat {
 public:
  Heartbeat() { beat(); }
  void beat() { last_ = monotonic_now().time_since_epoch().count(); }
  Milliseconds age(MonotonicTime now) const;

 private:
  std::atomic<MonotonicTime::rep> last_{};
};

/// Not thread-safe.
class Watchdog {
 public:
  /// Takes the limit that the service manager asks for (WATCHDOG_USEC, WATCHDOG_PID); without one, feeding
  /// does nothing.
  Watchdog();
  /// `limit`: the service manager ends a program that does not report for this long; nullopt: there is no
  /// watchdog.
  explicit Watchdog(std::optional<Milliseconds> limit) : limit_(limit) {}

  /// Reports progress (WATCHDOG=1), but no more often than needed: call it in every round. Returns true when
  /// it reported.
  bool feed(MonotonicTime now);
  /// As feed(), but reports nothing while one of `others` has made no progress for half of the limit.
  bool feed_if(std::initializer_list<std::reference_wrapper<const Heartbeat>> others, MonotonicTime now);

  /// How long a feeding thread may wait: a quarter of the limit, or an hour if there is no watchdog.
  Milliseconds interval() const;

 private:
  std::optional<Milliseconds> limit_;
  std::optional<MonotonicTime> fed_;
};

}  // namespace platform
