// "Did you mean …?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace admin {

/// The number of letters to insert, drop, replace or swap with their neighbour to make one text of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that is nearest to what was typed; nullopt when none is near enough to be meant.
std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace admin
