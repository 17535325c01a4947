// UTF-8, as RFC 3629 has it: no surrogates, no overlong forms.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace text {

struct Character {
  char32_t point = 0;
  std::size_t length = 0;  // in bytes; 0: not UTF-8
};
/// The first character of a text that is not empty.
Character decode(std::string_view text);

/// Number of code points, which the limits of web/docs/limites.md count; nullopt when the text is not valid.
std::optional<std::size_t> count_characters(std::string_view text);

}  // namespace text
