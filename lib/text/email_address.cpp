#include "lib/text/email_address.hpp"

#include <algorithm>

#include "lib/text/text.hpp"

namespace text {

namespace {

constexpr std::size_t longest_address = 254;  // RFC 5321 section 4.5.3.1.3
constexpr std::size_t longest_local_part = 64;
constexpr std::size_t longest_label = 63;

/// `atext` of RFC 5322 section 3.2.3.
bool is_atom_character(char c) {
  return is_letter(c) || is_digit(c) ||
         std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
}

bool is_atom(std::string_view atom) { return !atom.empty() && std::ranges::all_of(atom, is_atom_character); }

bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '-'; };
  return !label.empty() && label.size() <= longest_label && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, allowed);
}

template <class Is>
bool all_between_dots(std::string_view text, Is is) {
  while (true) {
    const auto dot = text.find('.');
    if (!is(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

bool is_email_address(std::string_view text) {
  const auto at = text.find('@');
  if (at == std::string_view::npos || text.size() > longest_address || at > longest_local_part) return false;
  return all_between_dots(text.substr(0, at), is_atom) && all_between_dots(text.substr(at + 1), is_label);
}

}  // namespace text
