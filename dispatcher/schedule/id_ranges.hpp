// Ranges of ids that are searched for who waits. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/store/backlog/queue_scan.hpp"

namespace dispatcher {

/// Halves the widest ranges until there are `count`, or all are of one id: as many are searched at once, and
/// what waits is found side by side and not one after the other.
void halve_widest(std::vector<store::IdRange>& ranges, std::size_t count);

/// What lies between the keys that `known` picks, in about as many ranges as are searched at once: the others
/// end some of them, so that what waits is found side by side and not one after the other.
template <class Map, class F>
std::vector<store::IdRange> ranges_between(const Map& map, F&& known) {
  constexpr auto highest_id = std::numeric_limits<std::int64_t>::max();
  std::vector<store::IdRange> result;
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  const std::size_t step = map.size() / store::ranges_per_search + 1;
  std::size_t since = 0;  // others since the last range
  for (const auto& [id, entry] : map) {
    const bool is_known = known(entry);
    if (!is_known && ++since < step) continue;
    since = 0;
    if (!is_known) {
      result.push_back({first, id});
    } else if (first < id) {
      result.push_back({first, id - 1});
    }
    if (id == highest_id) return result;
    first = id + 1;
  }
  result.push_back({first, highest_id});
  return result;
}

}  // namespace dispatcher
