#include "lib/json/json_writer.hpp"

#include <boost/test/unit_test.hpp>

using json::Value;
using json::Writer;

BOOST_AUTO_TEST_SUITE(json_writer)

BOOST_AUTO_TEST_CASE(members_are_written_in_order_and_by_type) {
  Writer writer;
  writer.begin_object();
  writer.member("texto", "una \"cita\" y una \\");
  writer.member("cadena", std::string("ñ\n\x01"));
  writer.member("entero", std::int64_t{-9007199254740993});
  writer.member("cierto", true);
  writer.member("nulo", nullptr);
  writer.member("nada", std::optional<std::int64_t>());
  writer.member("algo", std::optional<std::string>("x"));
  writer.member("instante", platform::UtcTime(platform::Milliseconds(1763632800123)));
  writer.member("nunca", std::optional<platform::UtcTime>());
  writer.member("valor", Value(json::Number{"7.50"}));
  writer.name("lista");
  writer.begin_array();
  writer.begin_object();
  writer.end_object();
  writer.write("y");
  writer.end_array();
  writer.end_object();
  BOOST_TEST(
      writer.take() ==
      R"({"texto":"una \"cita\" y una \\","cadena":"ñ\n\u0001","entero":-9007199254740993,"cierto":true,)"
      R"("nulo":null,"nada":null,"algo":"x","instante":"2025-11-20T10:00:00.123Z","nunca":null,"valor":7.50,"lista":[{},"y"]})");
}

BOOST_AUTO_TEST_CASE(it_escapes_as_dump_does) {
  for (const std::string text : {"", "\t\"/\\", "\x7f€", "{\"a\": [1]}"}) {
    Writer writer;
    writer.write(text);
    BOOST_TEST(writer.take() == json::dump(Value(text)));
  }
}

// The writer copies a text whole if it finds no character to escape. It must find one at any position.
BOOST_AUTO_TEST_CASE(each_character_that_json_forbids_is_escaped_wherever_it_stands) {
  for (int c = 0; c < 256; ++c) {
    const auto character = static_cast<char>(c);
    const bool escaped = c < ' ' || character == '"' || character == '\\';
    for (std::size_t at = 0; at < 40; ++at) {
      std::string text(40, 'a');
      text[at] = character;
      Writer writer;
      writer.write(text);
      const auto written = writer.take();
      BOOST_TEST_REQUIRE((written == '"' + text + '"') != escaped);
      if (c < 128) BOOST_TEST_REQUIRE(*json::parse(written).string() == text);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
