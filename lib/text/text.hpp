// Text whose letters, digits and blanks are those of ASCII, whatever the locale (those of <cctype> change
// with it), and text of unknown origin made safe to show.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace text {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

std::string lower(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Whether the text has a digit where the shape has a `0`, and the shape's own characters elsewhere.
bool has_shape(std::string_view text, std::string_view shape);

inline constexpr std::string_view white_space = " \t\r\n";
/// What may surround the value of an HTTP field (OWS, RFC 9110 section 5.6.3): no line ends.
inline constexpr std::string_view http_white_space = " \t";

/// Without the characters of `blanks` at both ends.
std::string_view trim(std::string_view text, std::string_view blanks = white_space);

/// The number that the whole text is; nullopt for any other text, or out of the range of `T`. No blanks, no
/// `+`; leading zeros are read.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

/// Control characters, those that reorder or break lines, and bytes that are not UTF-8 become \xNN (one for
/// each byte); the rest is unchanged. For whole messages.
std::string one_line(std::string_view text);

/// A JSON text of the same meaning, with \uNNNN for those that one_line hides beyond ASCII (RFC 8259 section
/// 7).
std::string escape_json(std::string_view text);

/// one_line with `"` and `\` escaped too, between quotes: where a value begins and ends is unambiguous.
std::string in_quotes(std::string_view text);

}  // namespace text
