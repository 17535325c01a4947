#include "lib/webhook/event_summary.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/webhook/event_data.hpp"

BOOST_AUTO_TEST_SUITE(event_summary)

namespace {

using webhook::Event;

std::string summary(Event event, std::string_view data) {
  return json::dump(webhook::event_summary(event, data));
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_event_has_two_fields_that_its_data_must_have) {
  for (const Event event : webhook::all_events()) {
    for (const auto field : webhook::summary_fields(event)) {
      const std::string data =
          R"({"evaluacionId":1,"declaracionId":1,"incidenciaId":1,"documentoId":1,"tipo":1,)"
          R"("notaFinal":1,"titulo":"","descripcion":"","fechaInicio":"2026-11-20",)"
          R"("fechaFin":"2026-11-20","fechaCierre":"2026-11-20T10:00:00Z","diasRestantes":1})";
      auto without = data;
      const auto at = without.find('"' + std::string(field) + '"');
      BOOST_REQUIRE_MESSAGE(at != std::string::npos, field);
      without.replace(at + 1, 1, "x");
      BOOST_TEST(!webhook::check_event_data(event, data));
      BOOST_TEST(webhook::check_event_data(event, without).has_value(), field);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_fields_are_given_whole_and_as_they_are) {
  BOOST_TEST(summary(Event::evaluacion_abierta,
                     R"({"titulo": "ñ \u0061", "más": 1, "evaluacionId": 9007199254740993})") ==
             R"({"evaluacionId":9007199254740993,"titulo":"ñ a"})");
  const std::string title(60'000, 'x');
  BOOST_TEST(summary(Event::incidencia_cerrada, R"({"incidenciaId":9,"titulo":")" + title + "\"}").size() >
             title.size());
}

BOOST_AUTO_TEST_CASE(other_data_have_none) {
  for (const auto* data : {"", "{", "[]", "null", "{}", R"({"evaluacionId":1})"})
    BOOST_TEST(summary(Event::evaluacion_abierta, data) == "null", data);
}

BOOST_AUTO_TEST_SUITE_END()
