// Text of unknown origin made safe to show: one line, valid UTF-8, nothing that a terminal would obey.
// Internal to the library.
#pragma once

#include <string>
#include <string_view>

namespace platform {

/// Without the blanks, tabs and line ends at both ends.
std::string_view trim(std::string_view text);

/// Control characters, those that reorder or break lines, and bytes that are not UTF-8 become \xNN (one for
/// each byte); the rest is unchanged. For whole messages.
std::string one_line(std::string_view text);

/// one_line with `"` and `\` escaped too, between quotes: where a value begins and ends is unambiguous.
std::string in_quotes(std::string_view text);

}  // namespace platform
