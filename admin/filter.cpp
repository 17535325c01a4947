#include "admin/filter.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "admin/errors.hpp"

namespace admin {

namespace {

constexpr unsigned max_limit = 1'000'000;

/// Whether the text has the digits of the shape where it says `0`, and its other characters elsewhere.
bool has_shape(std::string_view text, std::string_view shape) {
  return std::ranges::equal(text, shape,
                            [](char c, char s) { return s == '0' ? c >= '0' && c <= '9' : c == s; });
}

/// Of digits that has_shape has seen.
int number(std::string_view text, std::size_t at, std::size_t length) {
  int value = 0;
  std::from_chars(text.data() + at, text.data() + at + length, value);
  return value;
}

std::optional<platform::UtcTime> parse_date(std::string_view text) {
  if (!has_shape(text, "0000-00-00")) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(number(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(text, 8, 2)))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::optional<platform::UtcTime> parse_date_time(std::string_view text) {
  const bool with_fraction = has_shape(text, "0000-00-00T00:00:00.000Z");
  if (!with_fraction && !has_shape(text, "0000-00-00T00:00:00Z")) return std::nullopt;
  const auto date = parse_date(text.substr(0, 10));
  const int hours = number(text, 11, 2);
  const int minutes = number(text, 14, 2);
  const int seconds = number(text, 17, 2);
  if (!date || hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  return *date + std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds) +
         std::chrono::milliseconds(with_fraction ? number(text, 20, 3) : 0);
}

std::optional<platform::UtcTime> parse_ago(std::string_view text, platform::UtcTime now) {
  const auto ago = platform::parse_duration(text);
  if (!ago || *ago > now.time_since_epoch()) return std::nullopt;
  return now - *ago;
}

std::string checked_state(const std::string& typed, std::span<const std::string_view> states) {
  if (std::ranges::find(states, typed) != states.end()) return typed;
  std::string allowed;
  for (const auto state : states) allowed += (allowed.empty() ? "" : ", ") + std::string(state);
  throw UsageError("--state must be one of " + allowed + ", not '" + typed + "'");
}

}  // namespace

platform::UtcTime parse_since(std::string_view text, platform::UtcTime now) {
  if (const auto time = parse_date_time(text)) return *time;
  if (const auto time = parse_date(text)) return *time;
  if (const auto time = parse_ago(text, now)) return *time;
  throw UsageError(
      "--since must be a UTC time (2026-11-20T10:00:00Z), a date (2026-11-20) or a duration that counts back "
      "from now (2h), not '" +
      std::string(text) + "'");
}

store::ListFilter read_filter(const Arguments& arguments, std::span<const std::string_view> states,
                              platform::UtcTime now) {
  store::ListFilter filter;
  filter.entity = arguments.id("entity");
  filter.webhook = arguments.id("webhook");
  filter.notification = arguments.id("notification");
  if (const auto state = arguments.text("state")) filter.state = checked_state(*state, states);
  if (const auto since = arguments.text("since")) filter.since = parse_since(*since, now);
  if (const auto limit = arguments.integer("limit", 1, max_limit))
    filter.limit = static_cast<unsigned>(*limit);
  return filter;
}

store::ListFilter one_more(store::ListFilter filter) {
  ++filter.limit;
  return filter;
}

}  // namespace admin
