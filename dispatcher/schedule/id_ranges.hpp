// Ranges of ids that the queue scanner searches for entities or webhooks that wait. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/store/backlog/queue_scan.hpp"

namespace dispatcher {

/// Halves the widest ranges until there are `count` ranges, or each range has one id. One statement searches
/// all ranges side by side, which is faster than to search them one after the other.
void halve_widest(std::vector<store::IdRange>& ranges, std::size_t count);

/// Returns ranges that cover all ids except the keys of values for which `known` returns true. Some of the
/// other keys (fewer than ranges_per_search) end a range, too, so that the ranges share the other keys
/// evenly.
template <class Map, class F>
std::vector<store::IdRange> ranges_between(const Map& map, F&& known) {
  constexpr auto highest_id = std::numeric_limits<std::int64_t>::max();
  std::vector<store::IdRange> result;
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  const std::size_t step = map.size() / store::ranges_per_search + 1;
  std::size_t since = 0;  // how many keys that are not known follow the last border
  for (const auto& [id, entry] : map) {
    const bool is_known = known(entry);
    if (!is_known && ++since < step) continue;
    since = 0;
    if (!is_known) {
      result.push_back({first, id.number()});
    } else if (first < id) {
      result.push_back({first, id.previous().number()});
    }
    if (id == highest_id) return result;
    first = id.next().number();
  }
  result.push_back({first, highest_id});
  return result;
}

}  // namespace dispatcher
