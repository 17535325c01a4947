#include "lib/text/text.hpp"

#include <algorithm>

#include "lib/text/utf8.hpp"

namespace text {

namespace {

/// Whether the character is a C0 or C1 control, DEL, a line or paragraph separator, or a mark that changes
/// the order of the displayed text (Unicode's Bidi_Control).
bool is_hidden(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
         point == 0x200f || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

void append_bytes(std::string& result, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    result += "\\x";
    result += digits[byte >> 4U];
    result += digits[byte & 15U];
  }
}

std::string escape(std::string_view text, std::string_view marked) {
  std::string result;
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    const auto bytes = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_hidden(point)) {
      append_bytes(result, bytes);
    } else {
      if (marked.find(bytes) != std::string_view::npos) result += '\\';
      result += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return result;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (shape[i] == '0' ? !is_digit(text[i]) : text[i] != shape[i]) return false;
  }
  return true;
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  const auto first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0U) == 0x80U) --longest;
  return text.substr(0, longest);
}

std::string one_line(std::string_view text) { return escape(text, ""); }

std::string escape_json(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    const auto bytes = text.substr(0, length == 0 ? 1 : length);
    // All hidden characters are in the Basic Multilingual Plane, so four hex digits suffice. Hidden ASCII
    // characters are escaped already in JSON, except DEL.
    if (length > 1 && is_hidden(point)) {
      constexpr std::string_view digits = "0123456789abcdef";
      result += "\\u";
      for (const unsigned shift : {12U, 8U, 4U, 0U}) result += digits[(point >> shift) & 15U];
    } else if (point == 0x7f) {
      result += "\\u007f";
    } else {
      result += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return result;
}

std::string in_quotes(std::string_view text) { return '"' + escape(text, "\"\\") + '"'; }

}  // namespace text
