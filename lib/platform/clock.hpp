// Time as the project writes it: UTC with millisecond precision, and durations as the configuration spells
// them.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace platform {

using Milliseconds = std::chrono::milliseconds;
/// A wall-clock instant, UTC, millisecond precision. Never used to measure a time-out: that is what
/// MonotonicTime is for.
using UtcTime = std::chrono::sys_time<Milliseconds>;

/// Goes on while the machine is suspended, which std::chrono::steady_clock does not: what another one has
/// taken over meanwhile must not look as if it were still ours. (CLOCK_BOOTTIME of clock_gettime(2).)
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

/// `2026-11-20T10:00:00.000Z`. Of the years 0 to 9999, as the database has them.
std::string format_iso8601(UtcTime time);
/// The same, for who writes hundreds.
using Iso8601Text = std::array<char, 24>;
Iso8601Text iso8601_text(UtcTime time);

/// `2026-11-20`, a day that exists; nullopt otherwise.
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

/// `10:00:00`, with no second 60; nullopt otherwise.
std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text);

/// `2026-11-20T10:00:00Z`, or with milliseconds; an instant that exists, else nullopt.
std::optional<UtcTime> parse_iso8601(std::string_view text);

/// Parses `50ms`, `5s`, `30m`, `2h`, `5d` (an integer of 0 or more and a unit, no spaces); nullopt otherwise
/// or on overflow.
std::optional<Milliseconds> parse_duration(std::string_view text);

/// The shortest spelling that parse_duration reads back to the same value.
std::string format_duration(Milliseconds duration);

}  // namespace platform
