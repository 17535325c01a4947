// Decides when a failed delivery is retried (docs/decisions.md#notifications). Pure: time and chance are
// arguments.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/platform/clock.hpp"

namespace delivery {

struct RetryPolicy {
  std::vector<platform::Milliseconds> schedule;  // wait before the 1st, 2nd, … retry
  double jitter = 0.2;                           // 0..1
  platform::Milliseconds retry_after_max{86400000};
};

inline constexpr unsigned test_event_retries = 2;

/// Returns the wait before the next attempt after `failures` failed ones (1 or more). Returns nullopt when no
/// retry is left (a test event has at most test_event_retries): the delivery becomes `fallida`. `chance` in
/// [0, 1) places the schedule's wait w in [w·(1-jitter), w·(1+jitter)]. The result is no shorter than the
/// smaller of `retry_after` and retry_after_max.
std::optional<platform::Milliseconds> next_attempt(const RetryPolicy& policy, unsigned failures,
                                                   bool test_event, double chance,
                                                   std::optional<platform::Milliseconds> retry_after);

/// Reads the value of a Retry-After header (RFC 9110 section 10.2.3): seconds, rounded up, or a date in any
/// form that libcurl reads (the RFC has fewer). Returns the wait from `now`: 0 for a past date, the largest
/// wait for a value out of range, nullopt for any other text.
std::optional<platform::Milliseconds> parse_retry_after(std::string_view value, platform::UtcTime now);

}  // namespace delivery
