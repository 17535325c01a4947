#include "lib/platform/watchdog.hpp"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>

#include "lib/platform/service_manager.hpp"

namespace platform {

namespace {

std::optional<Milliseconds> requested_limit() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::duration_cast<Milliseconds>(std::chrono::microseconds(microseconds));
}

}  // namespace

Milliseconds Heartbeat::age(MonotonicTime now) const {
  return std::chrono::duration_cast<Milliseconds>(now - MonotonicTime(MonotonicTime::duration(last_)));
}

Watchdog::Watchdog() : Watchdog(requested_limit()) {}

bool Watchdog::feed(MonotonicTime now) {
  if (!limit_ || (fed_ && now - *fed_ < interval() / 2)) return false;
  fed_ = now;
  notify_service_manager("WATCHDOG=1");
  return true;
}

bool Watchdog::feed_if(std::initializer_list<std::reference_wrapper<const Heartbeat>> others,
                       MonotonicTime now) {
  const auto goes_on = [&](const Heartbeat& other) { return other.age(now) < *limit_ / 2; };
  return limit_ && std::ranges::all_of(others, goes_on) && feed(now);
}

Milliseconds Watchdog::interval() const { return limit_ ? *limit_ / 4 : std::chrono::hours(1); }

}  // namespace platform
