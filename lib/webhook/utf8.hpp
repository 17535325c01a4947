// Counting characters, as the limits of web/docs/limites.md do.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace webhook {

/// Number of code points; nullopt when the text is not valid UTF-8 (RFC 3629: no surrogates, no overlong
/// forms).
std::optional<std::size_t> count_characters(std::string_view text);

}  // namespace webhook
