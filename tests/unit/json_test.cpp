#include "lib/json/json.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

using json::Array;
using json::Number;
using json::Object;
using json::ParseError;
using json::Value;

namespace {

/// Returns the message of a refusal; empty if the text was accepted.
std::string refusal(std::string_view text) try {
  json::parse(text);
  return "";
} catch (const ParseError& error) {
  return error.what();
}

bool refused(std::string_view text) { return !refusal(text).empty(); }

bool refused_saying(std::string_view text, std::string_view what) {
  return refusal(text).find(what) != std::string::npos;
}

std::string round_trip(std::string_view text) { return json::dump(json::parse(text)); }

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string repeat(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(reads_every_type) {
  const Value value = json::parse(R"( {"a":null,"b":[true,false],"c":{"d":"ñ"},"e":-1} )");
  BOOST_TEST(value.find("a")->is_null());
  BOOST_TEST((*value.find("b") == Value(Array{true, false})));
  BOOST_TEST(*value.find("c")->find("d")->string() == "ñ");
  BOOST_TEST(value.find("e")->integer().value() == -1);
  BOOST_TEST(*json::parse(" true\n").boolean());
}

// RapidJSON's operator[] asserts on a member that is not there.
BOOST_AUTO_TEST_CASE(a_missing_member_is_no_member) {
  BOOST_TEST(json::parse("{}").find("a") == nullptr);
  BOOST_TEST(json::parse("[]").find("a") == nullptr);
  BOOST_TEST(json::parse("1").find("") == nullptr);
}

BOOST_AUTO_TEST_CASE(numbers_stay_as_written) {
  for (const auto* number :
       {"7.50", "0", "-0", "-0.0", "1E+2", "1e-400", "123456789012345678901234567890", "0.10"}) {
    BOOST_TEST(round_trip(number) == number);
  }
  BOOST_TEST(round_trip("[1, -2.50, 3e5]") == "[1,-2.50,3e5]");
}

BOOST_AUTO_TEST_CASE(malformed_numbers_are_refused) {
  for (const auto* number : {"01", "+1", "1.", ".5", "1e", "-", "NaN", "Infinity", "0x10", "1_0", "--1"}) {
    BOOST_TEST(refused(number), number);
  }
}

// RapidJSON's own conversions read out of bounds, abort or overflow on these.
BOOST_AUTO_TEST_CASE(crafted_numbers_do_no_harm) {
  BOOST_TEST(refused_saying("1e99999999999", "demasiado grande"));
  BOOST_TEST(refused_saying(std::string(5000, '9'), "demasiado grande"));
  const std::string zeros(308, '0');
  const std::vector<std::string> infinite{"1e309",      "1.8e308",           "-9e308",
                                          "2" + zeros,  "1" + zeros + "0.5", "1" + zeros + "e1",
                                          "0.0018e311", "1e99999",           "-1e2147483648"};
  for (const auto& number : infinite)
    BOOST_TEST(refused_saying("[" + number + "]", "demasiado grande"), number);
  const std::vector<std::string> largest{"1e308", "-1.7976931348623157e308", "1" + zeros, "0.0001e312"};
  for (const auto& number : largest) BOOST_TEST(round_trip(number) == number);
  const std::string tiny = "0." + std::string(5000, '0') + "1e-999999999999";
  BOOST_TEST(round_trip(tiny) == tiny);
  const std::string compensated = "0." + std::string(5000, '0') + "1e5001";
  BOOST_TEST(round_trip(compensated) == compensated);
  const std::string long_fraction = "1." + std::string(60000, '9') + "e-2147483648";
  BOOST_TEST(round_trip(long_fraction) == long_fraction);
  for (const auto* number :
       {"1e-2147483647", "1e-2147483648", "1e-99999999999999999999", "0.1e-2147483647"}) {
    BOOST_TEST(round_trip(number) == number);
  }
}

BOOST_AUTO_TEST_CASE(whole_numbers_in_every_spelling_and_nothing_near_them) {
  const auto whole = [](std::string_view text) { return json::parse(text).whole_number(); };
  for (const auto* one : {"1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000000000000000000000000000000"})
    BOOST_TEST(whole(one).value_or(0) == 1, one);
  BOOST_TEST(whole("-1.50e1").value() == -15);
  BOOST_TEST(whole("0e300").value() == 0);
  BOOST_TEST(whole("-0.0").value() == 0);
  BOOST_TEST(whole("9223372036854775807.0").value() == std::numeric_limits<std::int64_t>::max());
  for (const auto* none : {"1.5", "0.99999999999999999999", "604800.00000000000001", "1e-1", "1e-999999999",
                           "9223372036854775808.0", "1e19", "1e300", "\"1\"", "null"})
    BOOST_TEST(!whole(none), none);
}

BOOST_AUTO_TEST_CASE(integers) {
  const auto integer = [](std::string_view text) { return json::parse(text).integer(); };
  BOOST_TEST(integer("9223372036854775807").value() == std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(integer("-9223372036854775808").value() == std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(integer("-0").value() == 0);
  for (const auto* text :
       {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "1E0", "\"1\"", "true", "null"}) {
    BOOST_TEST(!integer(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_CASE(depth_is_capped) {
  BOOST_TEST(round_trip(nested(32)) == nested(32));
  BOOST_TEST(refused_saying(nested(33), "32 niveles"));
  BOOST_TEST(round_trip(repeat(R"({"a":)", 31) + "{}" + repeat("}", 31)).size() > 0);
  BOOST_TEST(refused_saying(repeat(R"({"a":)", 32) + "{}" + repeat("}", 32), "32 niveles"));
  // Many values side by side are not deep.
  BOOST_TEST(!refused(std::string("[") + repeat("[],", 1000) + "[]]"));
}

BOOST_AUTO_TEST_CASE(absurd_depth_does_not_exhaust_the_stack) {
  BOOST_TEST(refused_saying(std::string(100000, '['), "32 niveles"));
  BOOST_TEST(refused_saying(nested(100000), "32 niveles"));
  BOOST_TEST(refused_saying(repeat(R"({"a":)", 100000), "32 niveles"));
  BOOST_TEST(refused_saying(repeat(R"([{"a":)", 100000), "32 niveles"));
}

BOOST_AUTO_TEST_CASE(repeated_names_are_refused) {
  BOOST_TEST(refused_saying(R"({"a":1,"a":1})", "repite"));
  BOOST_TEST(refused_saying(R"({"a":1,"b":2,"\u0061":3})", "repite"));
  BOOST_TEST(refused_saying(R"([{"x":{"":1,"":2}}])", "repite"));
  BOOST_TEST(refused_saying(std::string("{") + repeat(R"("k":0,)", 10000) + R"("k":0})", "repite"));
  BOOST_TEST(!refused(R"({"a":{"a":1},"A":[{"a":1},{"a":1}]})"));
  BOOST_TEST(!refused(R"({"a":1,"a\u0000":1})"));
}

BOOST_AUTO_TEST_CASE(surrogates) {
  BOOST_TEST(*json::parse(R"("\ud83d\ude00")").string() == "😀");
  for (const auto* text : {R"("\ud800")", R"("\ud800x")", R"("\ud800\u0041")", R"("\ud800\ud800")",
                           // RapidJSON lets a lone low surrogate pass.
                           R"("\udc00")", R"("a\udfffb")", R"(["\ude00\ud83d"])", R"({"\udc00":1})"}) {
    BOOST_TEST(refused_saying(text, "sustituto"), text);
  }
  BOOST_TEST(refused("\"\xED\xA0\x80\""));  // a surrogate, encoded as UTF-8
  BOOST_TEST(refused("\"\xED\xB0\x80\""));
}

BOOST_AUTO_TEST_CASE(invalid_utf8_is_refused) {
  for (const auto* text : {"\"\xFF\"", "\"\xC3\"", "\"\xC0\x80\"", "\"\xE0\x80\x80\"", "\"\xF4\x90\x80\x80\"",
                           "\"\x80\"", "{\"\xC3\":1}", "\xC3\xB1", "[1,\xFF]"}) {
    BOOST_TEST(refused(text));
  }
  BOOST_TEST(refused_saying("\"\xC3\"", "UTF-8"));
}

BOOST_AUTO_TEST_CASE(other_encodings_are_refused) {
  BOOST_TEST(refused_saying("\xEF\xBB\xBF{}", "BOM"));
  BOOST_TEST(refused_saying(std::string_view("\xFF\xFE{\0}\0", 6), "UTF-8"));
  BOOST_TEST(refused_saying(std::string_view("\xFE\xFF\0{\0}", 6), "UTF-8"));
  BOOST_TEST(refused_saying(std::string_view("{\0}\0", 4), "UTF-8"));
  BOOST_TEST(refused_saying(std::string_view("\0{\0}", 4), "UTF-8"));
}

BOOST_AUTO_TEST_CASE(one_value_and_nothing_else) {
  BOOST_TEST(refused_saying("", "vacío"));
  BOOST_TEST(refused_saying(" \n ", "vacío"));
  for (const auto* text : {"{} {}", "1 2", "null,", "[]]", "{}//", "truefalse"})
    BOOST_TEST(refused(text), text);
  // RapidJSON takes a zero byte for the end of the text.
  BOOST_TEST(refused_saying(std::string_view("{}\0", 3), "sobra"));
  BOOST_TEST(refused_saying(std::string_view("{}\0{}", 5), "sobra"));
  BOOST_TEST(refused_saying(std::string_view("[1,\0]", 5), "byte cero"));
  BOOST_TEST(refused_saying(std::string_view("\"a\0b\"", 5), "byte cero"));
  for (const auto* text :
       {"[1,]", "{\"a\":1,}", "[1 2]", "{\"a\" 1}", "{a:1}", "{'a':1}", "/**/1", "tru", "\"a", "\"\\x\"",
        "\"\\u12\"", "\"a\nb\"", "\"\t\"", "{", "[", "{\"a\"", "{\"a\":"}) {
    BOOST_TEST(refused(text), text);
  }
}

BOOST_AUTO_TEST_CASE(the_text_ends_where_its_view_ends) {
  const std::string buffer = "123456";
  BOOST_TEST(json::parse(std::string_view(buffer).substr(0, 3)).integer().value() == 123);
  BOOST_TEST(refused(std::string_view("\"ab\"").substr(0, 3)));
}

BOOST_AUTO_TEST_CASE(messages_say_where_and_quote_nothing) {
  BOOST_TEST(refusal(R"({"clave":"secreta",})") ==
             "JSON no válido: falta el nombre de un miembro, entre comillas (byte 19)");
  BOOST_TEST(refusal("[1 2]") == "JSON no válido: falta una coma o el corchete de cierre (byte 3)");
  BOOST_TEST(refusal(R"({"a" 1})") == "JSON no válido: faltan los dos puntos después de un nombre (byte 5)");
  BOOST_TEST(refusal("nada") == "JSON no válido: se esperaba un valor (byte 1)");
}

BOOST_AUTO_TEST_CASE(escapes_are_read_and_written) {
  const Value value = json::parse(R"("a\u0000b\"\\\/\b\f\n\r\t\u001f\u00f1")");
  BOOST_TEST((*value.string() == std::string("a\0b\"\\/\b\f\n\r\t\x1fñ", 14)));
  BOOST_TEST(json::dump(value) == R"("a\u0000b\"\\/\b\f\n\r\t\u001Fñ")");
}

BOOST_AUTO_TEST_CASE(dump_is_compact_and_keeps_the_order) {
  const Value value =
      Object{{"z", nullptr}, {"a", Array{1, "x", true, Number{"7.50"}}}, {"ñ", Object{}}, {"l", Array{}}};
  BOOST_TEST(json::dump(value) == R"({"z":null,"a":[1,"x",true,7.50],"ñ":{},"l":[]})");
  BOOST_TEST((json::parse(json::dump(value)) == value));
}

BOOST_AUTO_TEST_CASE(depth_of_a_value) {
  const auto depth = [](std::string_view text) { return json::depth(json::parse(text)); };
  for (const auto* text : {"1", "null", "\"[[\"", "true"}) BOOST_TEST(depth(text) == 0U, text);
  for (const auto* text : {"[]", "{}", "[1,2]", R"({"a":1})"}) BOOST_TEST(depth(text) == 1U, text);
  BOOST_TEST(depth(R"([[],{"a":[1]},[]])") == 3U);
  BOOST_TEST(depth(nested(32)) == 32U);
}

BOOST_AUTO_TEST_CASE(a_value_of_an_optional) {
  BOOST_TEST(json::dump(Value(std::optional<std::int64_t>(5))) == "5");
  BOOST_TEST(json::dump(Value(std::optional<std::string>())) == "null");
}

BOOST_AUTO_TEST_SUITE_END()
