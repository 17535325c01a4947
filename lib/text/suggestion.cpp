#include "lib/text/suggestion.hpp"

#include <algorithm>

namespace text {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // table[i][j]: the distance of the first i letters of `a` from the first j of `b` (optimal string
  // alignment).
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({replaced, table[i - 1][j] + 1, table[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates,
                                   std::size_t most) {
  std::optional<std::string> result;
  // If more than half of the letters are wrong, it is not a typing error.
  std::size_t best = std::min(typed.size() / 2, most) + 1;
  // No command and no key is longer than 64 letters; the bound limits the time.
  if (typed.size() > 64) return result;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(typed, candidate);
    if (distance >= best) continue;
    best = distance;
    result = candidate;
  }
  return result;
}

}  // namespace text
