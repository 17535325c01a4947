// The number of terminal columns of a text: none for combining characters, two for East Asian characters and
// emoji.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace admin {

/// `text` is UTF-8. A byte that is not UTF-8 counts one column; a character without a known width
/// counts one column per byte.
std::size_t display_width(std::string_view text);

/// Returns the text; if it is wider than `columns`, cuts it to at most that width and ends it in an ellipsis.
/// `columns`: 1 or more.
std::string cut_to_width(const std::string& text, std::size_t columns);

}  // namespace admin
