#include "admin/input/filter.hpp"

#include <algorithm>
#include <optional>

#include "admin/errors.hpp"
#include "lib/text/text.hpp"

namespace admin {

namespace {

constexpr unsigned max_limit = 1'000'000;

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
  return parse_time("--since", text, now);
}

platform::UtcTime parse_time(std::string_view option, std::string_view text, platform::UtcTime now) {
  if (const auto time = platform::parse_iso8601(text)) return *time;
  if (const auto time = platform::parse_date(text)) return *time;
  if (const auto time = parse_ago(text, now)) return *time;
  throw UsageError(
      std::string(option) +
      " must be a UTC time (2026-11-20T10:00:00Z), a date (2026-11-20) or a duration that counts back "
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
