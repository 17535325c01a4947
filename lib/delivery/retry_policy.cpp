#include "lib/delivery/retry_policy.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>

#include "lib/text/text.hpp"

namespace delivery {

namespace {

using platform::Milliseconds;
using platform::UtcTime;

/// Reads the three forms of an HTTP date (RFC 9110 section 5.6.7), and every other form that libcurl reads. A
/// two-digit year above 70 is of the 20th century.
std::optional<UtcTime> parse_http_date(const std::string& text) {
  const std::time_t seconds = curl_getdate(text.c_str(), nullptr);
  if (seconds == -1) return std::nullopt;
  constexpr std::int64_t most = Milliseconds::max().count() / 1000;  // more would overflow Milliseconds
  return UtcTime(std::chrono::seconds(std::min<std::int64_t>(seconds, most)));
}

/// Reads a number of seconds. RFC 9110 allows only whole numbers, such as `120`; a fraction, such as `1.5`,
/// is read too, and rounded up.
std::optional<Milliseconds> parse_delay_seconds(std::string_view value) {
  const auto whole = value.substr(0, value.find('.'));
  const auto fraction = value.substr(std::min(whole.size() + 1, value.size()));
  const auto all_digits = [](std::string_view text) { return std::ranges::all_of(text, text::is_digit); };
  if (whole.empty() || !all_digits(whole) || !all_digits(fraction) || value.ends_with('.'))
    return std::nullopt;
  constexpr std::int64_t most = Milliseconds::max().count() / 1000;
  const std::int64_t up = fraction.find_first_not_of('0') == std::string_view::npos ? 0 : 1;
  const auto seconds = text::parse_number<std::int64_t>(whole);  // unset: the number is out of range
  return seconds && *seconds <= most - up ? std::chrono::seconds(*seconds + up) : Milliseconds::max();
}

Milliseconds jittered(Milliseconds wait, double jitter, double chance) {
  const double factor = 1.0 - jitter + 2.0 * jitter * chance;
  return Milliseconds(static_cast<std::int64_t>(static_cast<double>(wait.count()) * factor));
}

}  // namespace

std::optional<Milliseconds> next_attempt(const RetryPolicy& policy, unsigned failures, bool test_event,
                                         double chance, std::optional<Milliseconds> retry_after) {
  std::size_t retries = policy.schedule.size();
  if (test_event) retries = std::min<std::size_t>(retries, test_event_retries);
  const std::size_t retry = std::max(failures, 1U);
  if (retry > retries) return std::nullopt;
  const auto wait = jittered(policy.schedule[retry - 1], policy.jitter, chance);
  return std::max(wait, std::min(retry_after.value_or(Milliseconds{}), policy.retry_after_max));
}

std::optional<Milliseconds> parse_retry_after(std::string_view value, UtcTime now) {
  if (value.empty()) return std::nullopt;
  if (const auto delay = parse_delay_seconds(value)) return delay;
  const auto date = parse_http_date(std::string(value));
  if (!date) return std::nullopt;
  return std::max(*date - now, Milliseconds{});
}

}  // namespace delivery
