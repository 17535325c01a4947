#include "dispatcher/schedule/id_ranges.hpp"

#include <algorithm>

namespace dispatcher {

namespace {

/// Number of ids minus one.
std::uint64_t width(const store::IdRange& range) {
  return static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
}

}  // namespace

void halve_widest(std::vector<store::IdRange>& ranges, std::size_t count) {
  while (!ranges.empty() && ranges.size() < count) {
    const auto widest = std::ranges::max_element(ranges, {}, width);
    if (width(*widest) == 0) return;
    const auto middle =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(widest->first) + width(*widest) / 2);
    const store::IdRange upper{middle + 1, widest->last};
    widest->last = middle;
    ranges.push_back(upper);
  }
}

}  // namespace dispatcher
