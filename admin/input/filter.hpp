// The filters of lists: --entity --webhook --notification --state --since --limit.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "admin/input/options.hpp"
#include "admin/output/output.hpp"
#include "lib/store/types.hpp"

namespace admin {

inline constexpr Option entity_filter{"entity", "N", "only those of this entity"};
inline constexpr Option webhook_filter{"webhook", "N", "only those of this webhook"};
inline constexpr Option notification_filter{"notification", "N", "only those of this notification"};
inline constexpr Option since_filter{
    "since", "T", "only from then on: 2026-11-20, 2026-11-20T10:00:00Z, or 2h for the last two hours"};
inline constexpr Option limit_filter{"limit", "N", "the newest N (default 100), oldest of them first"};

/// Reads an ISO 8601 date or UTC date-time (`Z`, up to milliseconds), or a duration before `now`. Throws
/// UsageError, which names --since.
platform::UtcTime parse_since(std::string_view text, platform::UtcTime now);
/// Reads the same forms as parse_since; the error names `option`.
platform::UtcTime parse_time(std::string_view option, std::string_view text, platform::UtcTime now);

/// Reads the filters on the command line. `states`: the values that --state accepts. Throws UsageError.
store::ListFilter read_filter(const Arguments& arguments, std::span<const std::string_view> states,
                              platform::UtcTime now);

/// Lists the newest `filter.limit` of `items`, which were read with one_more(filter). If there is one item
/// more, the result's note says that there are older ones.
template <class Item, class ToRow>
Result list_result(const std::vector<Item>& items, const store::ListFilter& filter, ToRow to_row) {
  const std::size_t first = items.size() > filter.limit ? items.size() - filter.limit : 0;
  json::Array rows;
  for (std::size_t i = first; i < items.size(); ++i) rows.push_back(to_row(items[i]));
  Result result{std::move(rows)};
  if (first > 0)
    result.note = "there are older ones: --limit N shows more than " + std::to_string(filter.limit);
  return result;
}

/// The filter with a limit one higher, for list_result.
store::ListFilter one_more(store::ListFilter filter);

}  // namespace admin
