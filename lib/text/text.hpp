// Functions for ASCII text that, unlike those of <cctype>, do not depend on the locale, and functions that
// make text of unknown origin safe to show.
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

/// Whether the text equals `shape`, where a `0` in `shape` stands for any digit.
bool has_shape(std::string_view text, std::string_view shape);

inline constexpr std::string_view white_space = " \t\r\n";
/// White space that may surround an HTTP field's value (OWS, RFC 9110 section 5.6.3); excludes line ends.
inline constexpr std::string_view http_white_space = " \t";

/// Returns the text without the characters of `blanks` at both ends.
std::string_view trim(std::string_view text, std::string_view blanks = white_space);

/// Returns the text, or as much of its start as fits in `longest` bytes without a part of a UTF-8 character.
std::string_view cut(std::string_view text, std::size_t longest);

/// Reads the whole text as a number. Returns nullopt for any other text and for a number out of the range of
/// `T`. Accepts leading zeros, but no blanks and no `+`.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

/// Returns the text with \xNN in place of each byte of control characters, of characters that break lines or
/// reorder text, and of invalid UTF-8.
std::string one_line(std::string_view text);

/// Returns a JSON text of the same meaning, with \uNNNN (RFC 8259 section 7) for DEL and for the non-ASCII
/// characters that one_line escapes.
std::string escape_json(std::string_view text);

/// Returns one_line(text) between quotes. Escapes the `"` and `\` of the text, so that a reader finds the
/// value's end.
std::string in_quotes(std::string_view text);

}  // namespace text
