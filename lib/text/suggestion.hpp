// Finds a suggestion for "Did you mean …?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace text {

/// The least number of changes that turn one text into the other. A change inserts, deletes or replaces a
/// byte, or swaps two neighbouring bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `typed`, by at most `most` changes and by at most half of its letters; nullopt
/// when none is near enough.
std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates,
                                   std::size_t most = 64);

}  // namespace text
