#include "lib/text/utf8.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(utf8)

namespace {

using text::count_characters;

/// Encodes a number up to 0x1FFFFF in the way of UTF-8, even a surrogate or one beyond U+10FFFF.
std::string encode(std::uint32_t code) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(counts_characters_not_bytes) {
  BOOST_TEST(count_characters("").value() == 0U);
  BOOST_TEST(count_characters("abc").value() == 3U);
  BOOST_TEST(count_characters("ñandú").value() == 5U);
  BOOST_TEST(count_characters("€").value() == 1U);
  BOOST_TEST(count_characters("😀😀").value() == 2U);
  BOOST_TEST(count_characters("e\u0301").value() == 2U);  // code points, not what the eye sees
  BOOST_TEST(count_characters(std::string_view("a\0b", 3)).value() == 3U);
}

BOOST_AUTO_TEST_CASE(every_code_point_but_the_surrogates) {
  for (std::uint32_t code = 0; code < 0x112000; ++code) {
    const bool scalar = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    const auto count = count_characters(encode(code));
    // A million calls of BOOST_TEST would be slow.
    if (count.has_value() != scalar || count.value_or(1) != 1) BOOST_ERROR("code point " << code);
  }
}

BOOST_AUTO_TEST_CASE(ill_formed) {
  for (const std::string text : {
           "\x80",
           "\xbf",
           "\xc3",
           "\xc3(",
           "\xe2\x82",
           "\xe2(\xac",
           "\xe2\x82(",
           "\xe2\x82\xc0",
           "\xf0\x9f\x98",
           "\xf0\x9f\x98(",
           "\xf0\x9f(\x80",
           "\xf0(\x98\x80",
           "\xc3\xb1\xb1",
           "\xfe",
           "\xff",
           // Overlong.
           "\xc0\x80",
           "\xc1\xbf",
           "\xe0\x80\x80",
           "\xe0\x9f\xbf",
           "\xf0\x80\x80\x80",
           "\xf0\x8f\xbf\xbf",
           // Surrogates.
           "\xed\xa0\x80",
           "\xed\xbf\xbf",
           "\xed\xa0\xbd\xed\xb8\x80",
           // Beyond U+10FFFF.
           "\xf4\x90\x80\x80",
           "\xf5\x80\x80\x80",
           "\xf8\x88\x80\x80\x80",
           "\xf9\x80\x80\x80",  // the low bits alone would be those of U+40000
           "\xfc\x84\x80\x80\x80\x80",
       }) {
    BOOST_TEST(!count_characters(text).has_value());
    BOOST_TEST(!count_characters("abc" + text).has_value());
    BOOST_TEST(!count_characters(text + "abc").has_value());
  }
}

BOOST_AUTO_TEST_CASE(never_looks_past_the_end) {
  const std::string_view text = "😀";
  for (std::size_t size = 1; size < text.size(); ++size) {
    BOOST_TEST(!count_characters(text.substr(0, size)).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()
