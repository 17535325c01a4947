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

/// The keys of `map` are ids, in ascending order. A key is known if `known` returns true for its value. The
/// returned ranges cover all ids except the known keys. A range ends before each known key, and also when it
/// has `step` keys that are not known, so that the ranges share these keys evenly. Fewer than
/// ranges_per_search ranges end for the second reason.
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
