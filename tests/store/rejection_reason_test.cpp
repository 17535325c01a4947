// sql/grants/routines.sql judges data as the dispatcher does: the same verdict, and the same sentence.
#include <boost/test/unit_test.hpp>

#include <array>
#include <map>
#include <random>
#include <span>

#include "lib/text/text.hpp"
#include "lib/text/utf8.hpp"
#include "lib/webhook/event_data.hpp"
#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;
using webhook::Event;

namespace {

using Choices = std::span<const std::string_view>;

constexpr auto numbers_in_json = std::to_array<std::string_view>({"0",
                                                                  "-0",
                                                                  "1",
                                                                  "42",
                                                                  "-7",
                                                                  "7.50",
                                                                  "1.0",
                                                                  "1e2",
                                                                  "1E+2",
                                                                  "2e-1",
                                                                  "9223372036854775807",
                                                                  "9223372036854775808",
                                                                  "-9223372036854775808",
                                                                  "-9223372036854775809",
                                                                  "18446744073709551616",
                                                                  "1e308",
                                                                  "9e308",
                                                                  "1e309",
                                                                  "-1e309",
                                                                  "1.7976931348623157e308",
                                                                  "1.7976931348623158e308",
                                                                  "17976931348623159e292",
                                                                  "0.00017976931348623159e312",
                                                                  "0.0001e311",
                                                                  "0.0001e313",
                                                                  "0e308",
                                                                  "0e309",
                                                                  "0.0e309",
                                                                  "0.0e310",
                                                                  "-0.00e311",
                                                                  "1e-400",
                                                                  "1e0000000000000000308",
                                                                  "1e00309",
                                                                  "1e99999999999",
                                                                  "1e-99999999999",
                                                                  "01",
                                                                  "-01",
                                                                  "1.",
                                                                  "1.e3",
                                                                  ".5",
                                                                  "-.5",
                                                                  "1e",
                                                                  "1e+",
                                                                  "1E-",
                                                                  "-",
                                                                  "+1",
                                                                  "--1",
                                                                  "NaN",
                                                                  "Infinity",
                                                                  "-Infinity",
                                                                  "0x10",
                                                                  "1_0",
                                                                  "1,5"});
constexpr auto strings_in_json =
    std::to_array<std::string_view>({"",
                                     "x",
                                     "Convocatoria 2026",
                                     "ñ👩‍🎓€",
                                     R"(\u00f1)",
                                     R"(\ud83d\udc69)",
                                     R"(\uD83D\uDC69)",
                                     R"(\ud800)",
                                     R"(\udc00)",
                                     R"(\udc00\x)",
                                     R"(\ud800\u0041)",
                                     R"(\ud800\ud800)",
                                     R"(\ud800\u12)",
                                     R"(\ud800\n)",
                                     R"(\\udc00)",
                                     R"(\\\udc00)",
                                     R"(\n\\\\ud800)",
                                     R"(\u12)",
                                     R"(\u12g4)",
                                     R"(\u)",
                                     R"(\x)",
                                     R"(\')",
                                     R"(\")",
                                     R"(\\)",
                                     R"(\/\b\f\n\r\t)",
                                     R"(\u0000)",
                                     R"(", "a": ")",
                                     "\x01",
                                     "\t",
                                     "\n",
                                     "\x7f",
                                     "\u2028",
                                     ":",
                                     "{",
                                     "]",
                                     "2026-02-28",
                                     "2026-02-29",
                                     "2024-02-29",
                                     "2000-02-29",
                                     "1900-02-29",
                                     "0000-02-29",
                                     "0000-00-00",
                                     "9999-12-31",
                                     "2026-12-31",
                                     "2026-04-31",
                                     "2026-04-30",
                                     "2026-06-30",
                                     "2026-13-01",
                                     "2026-1-01",
                                     "2026-01-00",
                                     "2026-01-32",
                                     "2026-01-01 ",
                                     " 2026-01-01",
                                     R"(2026-01-01\n)",
                                     R"(2026-01-\u0030\u0031)",
                                     "20260101",
                                     "２０２６-01-01",
                                     "2026-01-01Z",
                                     "2026-01-01T00:00:00Z",
                                     "2026-12-31T23:59:59Z",
                                     "2026-02-30T23:59:59Z",
                                     "2024-02-29T00:00:00.5Z",
                                     "2026-01-01T00:00:00.Z",
                                     "2026-01-01T00:00:00.123456789012345678901234567890Z",
                                     "2026-01-01T24:00:00Z",
                                     "2026-01-01T23:60:00Z",
                                     "2026-01-01T23:59:60Z",
                                     "2026-01-01t00:00:00Z",
                                     "2026-01-01T00:00:00z",
                                     "2026-01-01T00:00:00",
                                     "2026-01-01T00:00:00+00:00",
                                     "2026-01-01 00:00:00Z",
                                     R"(2026-01-01T00:00:00\u005a)",
                                     R"(2026-01-01T00:00:00Z\n)"});
constexpr auto names_in_json = std::to_array<std::string_view>({"evaluacionId",
                                                                "titulo",
                                                                "a",
                                                                "A",
                                                                "b",
                                                                "",
                                                                " ",
                                                                "a ",
                                                                "ñ",
                                                                R"(\u00f1)",
                                                                R"(\u0061)",
                                                                R"(a\n)",
                                                                R"(a\u000a)",
                                                                R"(a\\n)",
                                                                R"(\u0000)",
                                                                R"(\\)",
                                                                R"(\u005c)",
                                                                R"(\")",
                                                                R"(\ud83d\udc69)",
                                                                "👩",
                                                                R"(titul\u006f)",
                                                                R"(evaluacionId:i,titulo)",
                                                                "evaluacionId:i",
                                                                "Titulo"});
constexpr auto spaces =
    std::to_array<std::string_view>({"", "", "", "", " ", " ", "\n", "\t", "\r\n  ", "\v", "\u00a0", "\f"});
constexpr auto fragments = std::to_array<std::string_view>(
    {"{",    "}", "[",  "]",    "\"",   ":",   ",",   "\\",    "\\u",   "0", "e",    ".",
     "-",    " ", "\n", "true", "null", "nul", "tru", "falsa", "\"a\"", "ñ", "\x01", "\xef\xbb\xbf",
     "/**/", "'", "{}", "[]",   "\\\"", "9"});

const std::map<Event, std::vector<std::string_view>> fields{
    {Event::evaluacion_abierta, {"evaluacionId", "titulo"}},
    {Event::evaluacion_prorroga, {"evaluacionId", "fechaInicio", "fechaFin"}},
    {Event::evaluacion_cierre_proximo, {"evaluacionId", "fechaCierre", "diasRestantes"}},
    {Event::evaluacion_cerrada, {"evaluacionId", "titulo"}},
    {Event::resultados_provisionales, {"evaluacionId", "declaracionId", "notaFinal"}},
    {Event::resultados_definitivos, {"evaluacionId", "declaracionId", "notaFinal"}},
    {Event::alegaciones_periodo_abierto, {"evaluacionId", "declaracionId", "fechaFin"}},
    {Event::alegaciones_periodo_cierre, {"evaluacionId", "declaracionId"}},
    {Event::incidencia_respuesta, {"incidenciaId", "titulo"}},
    {Event::incidencia_cerrada, {"incidenciaId", "titulo"}},
    {Event::documento_disponible, {"documentoId", "declaracionId", "tipo", "descripcion"}},
};

/// Makes data from a seed: most of them nearly right.
class DataGenerator {
 public:
  explicit DataGenerator(std::uint64_t seed) : random_(seed) {}

  Event event() { return webhook::all_events().at(below(webhook::event_count)); }
  std::string data(Event event) {
    std::string text = one_in(12) ? value(3) : object(fields.at(event), 2);
    if (one_in(3)) text = space() + text + space();
    if (one_in(4)) text = mutated(text);
    if (one_in(60)) text = if_utf8(std::string(text).insert(below(text.size() + 1), 1, '\0'), text);
    return text;
  }

 private:
  /// The server lets only UTF-8 into the column, and into a function (1366).
  static std::string if_utf8(const std::string& text, const std::string& otherwise) {
    return text::count_characters(text) ? text : otherwise;
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::string pick(Choices choices) { return std::string(choices[below(choices.size())]); }
  std::string space() { return one_in(3) ? pick(spaces) : ""; }

  std::string number() {
    if (one_in(8)) return digits();
    return one_in(3) ? pick(numbers_in_json) : std::to_string(below(100000));
  }
  /// A number around the length of the greatest double. One that begins with its first digits is left to the
  /// dispatcher (numero_demasiado_grande).
  std::string digits() {
    constexpr auto lengths = std::to_array<std::size_t>({18, 19, 20, 300, 308, 309, 310, 400});
    constexpr auto ends = std::to_array<std::string_view>({"", "", ".5", ".", "e1", "e-300", "e", "e-99999"});
    constexpr auto starts =
        std::to_array<std::string_view>({"1", "9", "-1", "-8", "17976931348623156", "0.", "0.0000"});
    const std::string start = pick(starts);
    return start +
           std::string(lengths.at(below(lengths.size())) - start.size() + (start[0] == '-' ? 1 : 0), '0') +
           pick(ends);
  }
  std::string string() { return '"' + pick(strings_in_json) + '"'; }
  std::string value(unsigned deep) {
    switch (below(deep == 0 ? 6 : 9)) {
      case 0:
      case 1:
        return number();
      case 2:
      case 3:
        return string();
      case 4:
        return pick(std::to_array<std::string_view>({"true", "false", "null", "True", "nulo"}));
      case 5:
        return nested();
      case 6:
        return array(deep - 1);
      default:
        return object({}, deep - 1);
    }
  }
  std::string nested() {
    constexpr auto depths = std::to_array<std::size_t>({1, 2, 29, 30, 31, 32, 33});
    const auto depth = one_in(2) ? depths.at(below(depths.size())) : 1;
    std::string opening;
    std::string closing;
    for (std::size_t i = 0; i < depth; ++i) {
      const bool list = one_in(2);
      opening += list ? "[" : "{\"a\":";
      closing.insert(0, list ? "]" : "}");
    }
    return opening + "1" + closing;
  }
  std::string array(unsigned deep) {
    std::string text = "[";
    for (auto count = below(4); count > 0; --count)
      text += space() + value(deep) + space() + (count > 1 ? "," : "");
    return text + "]";
  }
  std::string member(const std::string& name, unsigned deep) {
    return space() + '"' + name + '"' + space() + ":" + space() + value(deep) + space();
  }
  std::string object(std::span<const std::string_view> required, unsigned deep) {
    std::vector<std::string> members;
    for (const auto name : required)
      if (!one_in(15)) members.push_back(right_member(std::string(name), deep));
    for (auto count = below(3); count > 0; --count) members.push_back(member(pick(names_in_json), deep));
    if (one_in(2)) std::ranges::shuffle(members, random_);
    std::string text = "{";
    for (const auto& member : members) text += (text.size() > 1 ? "," : "") + member;
    return text + "}";
  }
  /// Of the type that the name suggests, most of the time.
  std::string right_member(const std::string& name, unsigned deep) {
    if (one_in(4)) return member(name, deep);
    const bool date = name.starts_with("fecha");
    const bool text = name == "titulo" || name == "descripcion";
    const std::string day = one_in(4)   ? pick(strings_in_json)
                            : one_in(2) ? "2026-11-30"
                                        : "2026-11-30T23:59:59Z";
    return space() + '"' + name + "\":" + space() +
           (date   ? '"' + day + '"'
            : text ? string()
                   : std::to_string(below(100000)));
  }
  std::string mutated(std::string text) {
    for (auto count = 1 + below(3); count > 0; --count) {
      const auto at = below(text.size() + 1);
      std::string next = text;
      switch (below(4)) {
        case 0:
          next.insert(at, pick(fragments));
          break;
        case 1:
          next.erase(at, 1 + below(3));
          break;
        case 2:
          next.erase(at);
          break;
        default:
          next.replace(at, std::min<std::size_t>(1, text.size() - at), pick(fragments));
      }
      text = if_utf8(next, text);
    }
    return text;
  }

  std::mt19937_64 random_;
};

struct Fixture {
  Database database;
  Session& session = database.session;

  Fixture() {
    execute_grants(session, "triggers.sql");
    execute_grants(session, "routines.sql");
    add_entity(session, 1, "Entidad 1");
    session = database.connect();
  }

  /// Where the pattern of datos_sencillos accepts the data, also asks the parser.
  void check(Event event, const std::string& data) {
    const auto expected = webhook::check_event_data(event, data).value_or("accepted");
    const auto of = name(event);
    const auto row = session
                         .query(R"sql(
      SELECT COALESCE(motivo_de_rechazo(1, ?, ?, NULL), 'accepted') AS motivo,
        IF(datos_sencillos(campos_del_evento(?), ?), COALESCE(motivo_de_los_datos(campos_del_evento(?), ?), 'accepted'), NULL)
          AS analizado)sql",
                                of, data, of, data, of, data)
                         .at(0);
    const auto input = std::string(of) + " " + text::in_quotes(data);
    const auto reason = row.text("motivo");
    const auto parsed = row.optional_text("analizado").value_or(reason);
    BOOST_CHECK_MESSAGE(reason == expected, input << ": " << reason << ", not " << expected);
    BOOST_CHECK_MESSAGE(parsed == expected, input << " parsed: " << parsed << ", not " << expected);
    ++sentences[kind(expected)];
    if (expected != "accepted") return;
    const auto valid = session.query("SELECT JSON_VALID(CAST(? AS CHAR)) AS valido", data).at(0);
    BOOST_CHECK_MESSAGE(valid.integer("valido") == 1, input << " fails at the INSERT");
  }
  /// The sentence without the name of the field and the number of the byte.
  static std::string kind(const std::string& sentence) {
    const auto start = sentence.starts_with("datos.") ? sentence.find(':') : 0;
    return sentence.substr(start, sentence.find(" (byte") - start);
  }
  std::map<std::string, int> sentences;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rejection_reason, Fixture)

BOOST_AUTO_TEST_CASE(generated_data_are_judged_as_the_dispatcher_does) {
  DataGenerator generator(20261130);
  constexpr int inputs = 2000;
  for (int i = 0; i < inputs; ++i) {
    const Event event = generator.event();
    check(event, generator.data(event));
  }
  for (const auto& [sentence, times] : sentences) BOOST_TEST_MESSAGE(times << " " << sentence);
  BOOST_CHECK_GT(sentences["accepted"], inputs / 20);
  // Every sentence of lib/json and event_data.cpp occurs, except that a text is not UTF-8.
  BOOST_CHECK_GE(sentences.size(), 25U);
}

// Bytes behind the value, which may end within a character, are not read as its own.
BOOST_AUTO_TEST_CASE(what_follows_a_value_does_not_matter) {
  for (const std::string value :
       {"true", "false", "null", "1", "-2.5", "\"x\"", "[]", "{}", "[1]", "{\"a\":null}"})
    for (const std::string name : {"ñ", "xñ", "xxñ", "órgano", "año", "👩", "x👩"}) {
      check(Event::evaluacion_abierta, R"({"titulo":"x","evaluacionId":)" + value + ",\"" + name + "\":1}");
      check(Event::evaluacion_abierta, R"({"evaluacionId":1,"titulo":)" + value + ",\"" + name + "\":1}");
      check(Event::evaluacion_prorroga,
            R"({"evaluacionId":1,"fechaInicio":)" + value + ",\"" + name + "\":1}");
    }
}

// A regular expression's `.` leaves out line separators, unless told otherwise.
BOOST_AUTO_TEST_CASE(a_line_separator_hides_no_repeated_name) {
  check(Event::evaluacion_abierta, "{\"evaluacionId\":1,\"titulo\":\"x\",\"a\":\"\u2028\",\"a\":1}");
}

BOOST_AUTO_TEST_CASE(chosen_values_and_long_data_are_judged_as_the_dispatcher_does) {
  for (const auto text : strings_in_json) {
    const auto value = '"' + std::string(text) + '"';
    check(Event::evaluacion_prorroga,
          R"({"evaluacionId":1,"fechaInicio":"2026-01-01","fechaFin":)" + value + "}");
    check(Event::evaluacion_cierre_proximo,
          R"({"evaluacionId":1,"diasRestantes":2,"fechaCierre":)" + value + "}");
    check(Event::alegaciones_periodo_abierto,
          R"({"evaluacionId":1,"declaracionId":2,"fechaFin":)" + value + "}");
  }
  for (const auto number : numbers_in_json)
    check(Event::resultados_definitivos, R"({"evaluacionId":1,"declaracionId":)" + std::string(number) +
                                             R"(, "notaFinal":)" + std::string(number) + "}");

  const auto title = [](std::size_t length) {
    return R"({"evaluacionId":1,"titulo":")" + std::string(length, 'x') + "\"}";
  };
  std::string names = "{";
  for (int i = 0; i < 700; ++i) names += "\"n" + std::to_string(i) + "\":[{}],";
  check(Event::evaluacion_abierta, title(65000));
  check(Event::evaluacion_abierta, names + R"("evaluacionId":1,"titulo":"x"})");
  check(Event::evaluacion_abierta, names + R"("n699":1,"evaluacionId":1,"titulo":"x"})");
  check(Event::evaluacion_abierta, R"({"evaluacionId":)" + std::string(60000, '1') + R"(,"titulo":"x"})");
  check(Event::evaluacion_abierta, std::string(60000, '['));
}

// Elements that are certainly right are skipped, up to 4,000 bytes of them at once.
BOOST_AUTO_TEST_CASE(long_lists_are_judged_as_the_dispatcher_does) {
  const auto list = [this](std::string_view element, std::string_view last) {
    std::string text = R"({"evaluacionId":1,"titulo":"x","a":[)";
    while (text.size() < 4100) text += element;
    check(Event::evaluacion_abierta, text + std::string(last) + "]}");
  };
  const std::string object = R"({"a" : 1, "b": "\"ñ\n", "A":[ true,null ],)";
  for (const std::string_view element : {
           "0,",
           "-1.5e-7 ,\n",
           "[],",
           "[[0, 1],\"x\"], ",
           R"({"a":1,"b":[2],"":{}},)",
       })
    for (const std::string last :
         {"0", "", "00", "tru", R"("\ud800")", R"({"a":1,"a":2})", R"({"a":1,"\u0061":2},0)",
          R"({"a":",","b":[1,2],"a":{}},0)", R"({"a":1,"b":"}","a":1},0)", R"({"b":{"a":1,"a":2}},0)"})
      list(element, last);
  for (const std::string_view name : {"c", "a", "b", "A", "B", "a ", ""})
    list(object + '"' + std::string(name) + "\":0},", "0");
  list("[[[]]],1,", R"({"a":1,"a":2})");
  for (const int depth : {28, 29, 30, 31})
    check(Event::evaluacion_abierta, R"({"evaluacionId":1,"titulo":"x","a":)" + std::string(depth, '[') +
                                         "[[0],1],2" + std::string(depth, ']') + "}");
}

BOOST_AUTO_TEST_SUITE_END()
