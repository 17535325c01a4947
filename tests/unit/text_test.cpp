#include "lib/text/text.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>

using namespace text;

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(ascii_alone_has_letters_digits_and_case) {
  BOOST_TEST(lower("AZaz09@[`{Ñ") == "azaz09@[`{Ñ");
  BOOST_TEST(upper('a') == 'A');
  BOOST_TEST(upper('{') == '{');
  for (const char c : {'a', 'z', 'A', 'Z'}) BOOST_TEST(is_letter(c), c);
  for (const char c : {'@', '[', '`', '{', '0', '\xe1'}) BOOST_TEST(!is_letter(c), c);
  for (const char c : {'0', '9'}) BOOST_TEST(is_digit(c), c);
  for (const char c : {'/', ':', '\xb2'}) BOOST_TEST(!is_digit(c), c);
  BOOST_TEST(equal_ignoring_case("Retry-After", "retry-AFTER"));
  BOOST_TEST(!equal_ignoring_case("Retry-After", "Retry-Afte"));
  BOOST_TEST(!equal_ignoring_case("[", "{"));
}

BOOST_AUTO_TEST_CASE(blanks_are_taken_from_both_ends) {
  BOOST_TEST(trim(" \t\r\n a b \t\r\n") == "a b");
  BOOST_TEST(trim(" \t\r\n").empty());
  BOOST_TEST(trim("").empty());
  BOOST_TEST(trim(" \ta\r\n", http_white_space) == "a\r\n");
}

BOOST_AUTO_TEST_CASE(a_shape_has_a_zero_for_any_digit) {
  BOOST_TEST(has_shape("2026-11", "0000-00"));
  for (const auto* other : {"2026-1", "2026-111", "2026/11", "202a-11", ""})
    BOOST_TEST(!has_shape(other, "0000-00"), other);
}

BOOST_AUTO_TEST_CASE(a_number_is_the_whole_text) {
  BOOST_TEST(parse_number<int>("-12").value() == -12);
  BOOST_TEST(parse_number<unsigned>("007").value() == 7U);
  BOOST_TEST(parse_number<std::uint16_t>("65535").value() == 65535);
  BOOST_TEST(parse_number<double>("0.25").value() == 0.25);
  for (const auto* none : {"", " 1", "1 ", "+1", "1.0", "0x1", "a", "99999999999"})
    BOOST_TEST(!parse_number<int>(none), none);
  BOOST_TEST(!parse_number<std::uint16_t>("65536"));
  BOOST_TEST(!parse_number<unsigned>("-1"));
}

// A hidden character in a line of the log, or in a JSON answer, could change what the reader sees of the
// rest.
BOOST_AUTO_TEST_CASE(hidden_characters_are_escaped_and_their_neighbours_are_not) {
  for (const auto* hidden : {"\u0080", "\u009f", "\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a",
                             "\u202e", "\u2066", "\u2069"}) {
    BOOST_TEST(one_line(hidden).starts_with("\\x"), one_line(hidden));
    BOOST_TEST(escape_json(hidden).starts_with("\\u"), escape_json(hidden));
  }
  for (const auto* shown : {"\u00a0", "\u061b", "\u061d", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065",
                            "\u206a", "~", " ", "ñ"}) {
    BOOST_TEST(one_line(shown) == shown);
    BOOST_TEST(escape_json(shown) == shown);
  }
  BOOST_TEST(escape_json("a\x7f\u2069b") == R"(a\u007f\u2069b)");
  BOOST_TEST(one_line("\x1f\x7f") == R"(\x1f\x7f)");
}

BOOST_AUTO_TEST_CASE(a_text_is_cut_between_characters) {
  BOOST_TEST(cut("añb", 4) == "añb");
  BOOST_TEST(cut("añb", 3) == "añ");
  BOOST_TEST(cut("añb", 2) == "a");
  BOOST_TEST(cut("añb", 0).empty());
  BOOST_TEST(cut("\xf0\x9f\x98\x80", 3).empty());
  BOOST_TEST(cut("\x80\x80\x80", 2).empty());
}

BOOST_AUTO_TEST_SUITE_END()
