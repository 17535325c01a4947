#include "lib/webhook/event_data.hpp"

#include <boost/test/unit_test.hpp>
#include <map>

using webhook::check_event_data;
using webhook::Event;

namespace {

const std::map<Event, std::string> good{
    {Event::evaluacion_abierta, R"({"evaluacionId":42,"titulo":"Convocatoria 2026"})"},
    {Event::evaluacion_prorroga, R"({"evaluacionId":42,"fechaInicio":"2026-11-01","fechaFin":"2026-11-30"})"},
    {Event::evaluacion_cierre_proximo,
     R"({"evaluacionId":42,"fechaCierre":"2026-11-30T23:59:59Z","diasRestantes":3})"},
    {Event::evaluacion_cerrada, R"({"evaluacionId":42,"titulo":""})"},
    {Event::resultados_provisionales, R"({"evaluacionId":42,"declaracionId":7,"notaFinal":7.50})"},
    {Event::resultados_definitivos, R"({"evaluacionId":42,"declaracionId":7,"notaFinal":8})"},
    {Event::alegaciones_periodo_abierto, R"({"evaluacionId":42,"declaracionId":7,"fechaFin":"2026-12-15"})"},
    {Event::alegaciones_periodo_cierre, R"({"evaluacionId":42,"declaracionId":7})"},
    {Event::incidencia_respuesta, R"({"incidenciaId":9,"titulo":"Duda"})"},
    {Event::incidencia_cerrada, R"({"incidenciaId":9,"titulo":"Duda"})"},
    {Event::documento_disponible, R"({"documentoId":1,"declaracionId":7,"tipo":-2,"descripcion":"Informe"})"},
};

/// The fields of each event, as docs/events.md lists them.
const std::map<Event, std::vector<std::string>> fields{
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

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string reason(Event event, const std::string& json) {
  return check_event_data(event, json).value_or("accepted");
}

bool accepts_day(const std::string& day) {
  return reason(Event::evaluacion_prorroga,
                R"({"evaluacionId":1,"fechaInicio":"2026-01-01","fechaFin":")" + day + "\"}") == "accepted";
}

bool accepts_instant(const std::string& instant) {
  return reason(Event::evaluacion_cierre_proximo,
                R"({"evaluacionId":1,"diasRestantes":1,"fechaCierre":")" + instant + "\"}") == "accepted";
}

bool accepts_id(const std::string& id) {
  return reason(Event::incidencia_cerrada, R"({"titulo":"x","incidenciaId":)" + id + "}") == "accepted";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(event_data)

BOOST_AUTO_TEST_CASE(every_event_has_data_that_passes) {
  for (const Event event : webhook::all_events()) BOOST_TEST(reason(event, good.at(event)) == "accepted");
}

BOOST_AUTO_TEST_CASE(every_field_is_required) {
  for (const Event event : webhook::all_events()) {
    for (const auto& field : fields.at(event)) {
      const std::string without = replaced(good.at(event), '"' + field + '"', "\"otro\"");
      BOOST_TEST(reason(event, without) == "datos." + field + ": falta");
    }
  }
}

BOOST_AUTO_TEST_CASE(every_field_has_a_type) {
  for (const Event event : webhook::all_events()) {
    for (const auto& field : fields.at(event)) {
      for (const std::string wrong : {"null", "[]", "{}", "true"}) {
        const std::string name = '"' + field + "\":";
        const std::string json = replaced(good.at(event), name, name + wrong + ",\"resto\":");
        BOOST_TEST(reason(event, json).starts_with("datos." + field + ": debe ser "));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(unknown_fields_are_fine) {
  BOOST_TEST(reason(Event::alegaciones_periodo_cierre,
                    R"({"extra":{"a":[null]},"evaluacionId":1,"declaracionId":2})") == "accepted");
}

BOOST_AUTO_TEST_CASE(the_reason_says_what_would_be_right) {
  BOOST_TEST(reason(Event::incidencia_cerrada, R"({"incidenciaId":"9","titulo":"x"})") ==
             "datos.incidenciaId: debe ser un entero de 64 bits, sin fracción ni exponente");
  BOOST_TEST(reason(Event::incidencia_cerrada, R"({"incidenciaId":9,"titulo":5})") ==
             "datos.titulo: debe ser una cadena");
  BOOST_TEST(
      reason(Event::resultados_definitivos, R"({"evaluacionId":1,"declaracionId":1,"notaFinal":"7.5"})") ==
      "datos.notaFinal: debe ser un número");
  BOOST_TEST(reason(Event::evaluacion_prorroga,
                    R"({"evaluacionId":1,"fechaInicio":"2026-02-30","fechaFin":"2026-03-01"})") ==
             "datos.fechaInicio: debe ser una fecha que exista, AAAA-MM-DD");
}

BOOST_AUTO_TEST_CASE(only_objects) {
  for (const auto* json : {"[]", "null", "1", "\"x\""}) {
    BOOST_TEST(reason(Event::evaluacion_abierta, json) == "datos: debe ser un objeto JSON");
  }
  BOOST_TEST(reason(Event::evaluacion_abierta, "{").starts_with("datos: JSON no válido: "));
  BOOST_TEST(reason(Event::evaluacion_abierta, "").starts_with("datos: JSON no válido: "));
  BOOST_TEST(reason(Event::evaluacion_abierta, R"({"evaluacionId":1,"evaluacionId":2,"titulo":""})")
                 .starts_with("datos: "));
}

BOOST_AUTO_TEST_CASE(levels) {
  const auto nested = [](std::size_t lists) {
    return reason(Event::evaluacion_abierta, R"({"evaluacionId":1,"titulo":"","x":)" +
                                                 std::string(lists, '[') + std::string(lists, ']') + "}");
  };
  BOOST_TEST(nested(30) == "accepted");
  BOOST_TEST(nested(31) == "datos: no puede pasar de 31 niveles de listas y objetos");
}

BOOST_AUTO_TEST_CASE(integers) {
  for (const auto* id : {"0", "-1", "9223372036854775807", "-9223372036854775808"})
    BOOST_TEST(accepts_id(id), id);
  for (const auto* id :
       {"1.0", "1e3", "1E0", "\"1\"", "9223372036854775808", "-9223372036854775809", "null", "true"}) {
    BOOST_TEST(!accepts_id(id), id);
  }
}

BOOST_AUTO_TEST_CASE(days_of_the_calendar) {
  for (const auto* day : {"2026-01-31", "2024-02-29", "2000-02-29", "2026-12-31"})
    BOOST_TEST(accepts_day(day), day);
  for (const auto* day : {"2026-02-30", "2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10",
                          "2026-01-00", "0000-00-00", "2026-1-01", "26-01-01", "2026/01/01", "20260101",
                          "2026-01-01 ", "+026-01-01", "2026-01-01T00:00:00Z", "", "12026-01-01"}) {
    BOOST_TEST(!accepts_day(day), day);
  }
}

BOOST_AUTO_TEST_CASE(instants) {
  for (const auto* instant : {"2026-11-20T00:00:00Z", "2026-11-20T23:59:59Z", "2026-11-20T10:00:00.000Z",
                              "2026-11-20T10:00:00.5Z", "2026-11-20T10:00:00.123456789Z"}) {
    BOOST_TEST(accepts_instant(instant), instant);
  }
  for (const auto* instant :
       {"2026-11-20T24:00:00Z", "2026-11-20T10:60:00Z", "2026-11-20T10:00:60Z", "2026-02-30T10:00:00Z",
        "2026-11-20T10:00:00", "2026-11-20T10:00:00+00:00", "2026-11-20T10:00:00.Z", "2026-11-20T10:00:00,5Z",
        "2026-11-20 10:00:00Z", "2026-11-20t10:00:00z", "2026-11-20T10:00Z", "2026-11-20",
        "2026-11-20T10:00:00.5aZ", "2026-11-20T1:00:00Z", "2026-11-20TZ", "Z", "", "2026-11-20T10:00:00ZZ"}) {
    BOOST_TEST(!accepts_instant(instant), instant);
  }
}

BOOST_AUTO_TEST_CASE(the_end_of_allegations_is_a_day_or_an_instant) {
  const auto accepts = [](const std::string& end) {
    return reason(Event::alegaciones_periodo_abierto,
                  R"({"evaluacionId":1,"declaracionId":1,"fechaFin":")" + end + "\"}") == "accepted";
  };
  BOOST_TEST(accepts("2026-12-15"));
  BOOST_TEST(accepts("2026-12-15T12:00:00Z"));
  BOOST_TEST(!accepts("2026-12-32"));
  BOOST_TEST(!accepts("15/12/2026"));
}

BOOST_AUTO_TEST_SUITE_END()
