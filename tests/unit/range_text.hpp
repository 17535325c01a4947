// Ranges of ids as text: `-..4 7..+ ` means from the lowest id to 4, and from 7 to the highest id.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "dispatcher/schedule/id_ranges.hpp"

inline constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
inline constexpr auto highest = std::numeric_limits<std::int64_t>::max();

inline std::string text(const std::vector<store::IdRange>& ranges) {
  std::string result;
  for (const auto& [first, last] : ranges) {
    result += (first == lowest ? "-" : std::to_string(first)) + ".." +
              (last == highest ? "+" : std::to_string(last)) + " ";
  }
  return result;
}
