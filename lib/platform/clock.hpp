// Time: UTC with millisecond precision, and durations in the configuration's spelling.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace platform {

using Milliseconds = std::chrono::milliseconds;
/// A wall-clock instant, UTC, in milliseconds. Measure time-outs with MonotonicTime instead.
using UtcTime = std::chrono::sys_time<Milliseconds>;

/// A clock (CLOCK_BOOTTIME of clock_gettime(2)) that, unlike std::chrono::steady_clock, advances while the
/// machine is suspended: a lease that has expired in a suspension must not seem valid afterwards.
struct MonotonicClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
  static time_point now();
};
using MonotonicTime = MonotonicClock::time_point;

UtcTime utc_now();
MonotonicTime monotonic_now();

/// Returns `2026-11-20T10:00:00.000Z`. The year must be 0 to 9999, the database's range.
std::string format_iso8601(UtcTime time);
/// As format_iso8601, without an allocation.
using Iso8601Text = std::array<char, 24>;
Iso8601Text iso8601_text(UtcTime time);

/// Reads `2026-11-20`; nullopt unless the day exists.
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

/// Reads `10:00:00`; nullopt for other texts and for second 60.
std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text);

/// Reads `2026-11-20T10:00:00Z`, with up to nine decimals, and with `Z`, `+00:00` or `+0000`: languages
/// write a time in UTC in these ways. Cuts off what is smaller than a millisecond; nullopt unless the instant
/// exists.
std::optional<UtcTime> parse_iso8601(std::string_view text);

/// Reads `50ms`, `5s`, `30m`, `2h`, `5d` (an integer of 0 or more and a unit, no spaces); nullopt for other
/// texts and on overflow.
std::optional<Milliseconds> parse_duration(std::string_view text);

/// Returns the shortest spelling that parse_duration reads as the same value.
std::string format_duration(Milliseconds duration);

}  // namespace platform
