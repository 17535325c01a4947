// UTF-8 as RFC 3629 defines it: no surrogates, no overlong forms.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace text {

struct Character {
  char32_t point = 0;
  std::size_t length = 0;  // in bytes; 0: the bytes are not UTF-8
};
/// Decodes the first character of a text that is not empty.
Character decode(std::string_view text);

/// Returns the number of code points (the characters of web/docs/limites.md), or nullopt when the text is not
/// valid UTF-8.
std::optional<std::size_t> count_characters(std::string_view text);

}  // namespace text
