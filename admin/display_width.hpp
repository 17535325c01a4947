// The number of terminal columns of a text: none for combining characters, two for East Asian characters and
// emoji.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace admin {

/// `text` is UTF-8; a byte that is not, or a character without a known width, counts one per byte.
std::size_t display_width(std::string_view text);

/// Cuts a text wider than `columns` to that width; it then ends in an ellipsis. `columns`: 1 or more.
std::string cut_to_width(const std::string& text, std::size_t columns);

}  // namespace admin
