// How many columns of a terminal a text takes: none for combining characters, two for East Asian ones and
// emoji.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace admin {

/// `text` is UTF-8; what is not, or has no width, counts one for each byte.
std::size_t display_width(std::string_view text);

/// A text that is wider ends in an ellipsis within so many columns.
std::string cut_to_width(const std::string& text, std::size_t columns);

}  // namespace admin
