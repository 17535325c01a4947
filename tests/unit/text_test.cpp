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

BOOST_AUTO_TEST_SUITE_END()
