#include "lib/webhook/notification_body.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

BOOST_AUTO_TEST_SUITE(notification_body)

namespace {

using platform::Milliseconds;
using platform::UtcTime;
using webhook::Event;

const UtcTime moment(Milliseconds(1795168800007));  // 2026-11-20T10:00:00.007Z

}  // namespace

BOOST_AUTO_TEST_CASE(the_envelope) {
  BOOST_TEST(webhook::notification_body(Event::evaluacion_abierta, moment,
                                        R"({"evaluacionId": 42, "titulo": "Convocatoria 2026"})") ==
             R"({"evento":"evaluacion.abierta","timestamp":"2026-11-20T10:00:00.007Z",)"
             R"("data":{"evaluacionId": 42, "titulo": "Convocatoria 2026"}})");
}

BOOST_AUTO_TEST_CASE(data_goes_in_byte_for_byte) {
  for (const std::string data : {"{}", " {\n\t\"b\": 7.50, \"a\": 1e2 } ", "{\"t\":\"\\u00f1 ñ \\/ 😀\"}",
                                 "{\"n\":123456789012345678901234567890}"}) {
    const std::string body = webhook::notification_body(Event::resultados_definitivos, moment, data);
    BOOST_TEST(body.ends_with(",\"data\":" + data + "}"), body);
    BOOST_CHECK_NO_THROW(json::parse(body));
  }
}

BOOST_AUTO_TEST_CASE(the_data_of_a_test_event) {
  const json::Value extra = json::Object{{"nota", json::Number{"7.50"}}, {"texto", "a\"b\nñ"}};
  BOOST_TEST(
      webhook::test_event_data(Event::incidencia_cerrada, 9007199254740993, "Universidad \"Ñ\"", extra) ==
      R"({"test": true, "entidadId": 9007199254740993, "entidadNombre": "Universidad \"Ñ\"", )"
      R"("mensaje": "Notificaci\u00f3n de prueba del evento incidencia.cerrada, lanzada desde la API de integración.", )"
      R"("datos":{"nota":7.50,"texto":"a\"b\nñ"}})");
}

BOOST_AUTO_TEST_CASE(the_data_of_a_diagnosis) {
  using enum webhook::DiagnosisBody;
  const auto data = [](webhook::DiagnosisBody kind) {
    return webhook::diagnosis_data(7, "E \"Ñ\"", "p", kind);
  };
  BOOST_TEST(
      data(refused) ==
      R"({"test": true, "entidadId": 7, "entidadNombre": "E \"Ñ\"", )"
      R"("mensaje": "Diagn\u00f3stico: esta notificación debe rechazarse", "datos":{"diagnostico": "p"}})");
  BOOST_TEST(
      data(accepted) ==
      R"({"test": true, "entidadId": 7, "entidadNombre": "E \"Ñ\"", )"
      R"("mensaje": "Diagn\u00f3stico: esta notificación debe aceptarse", "datos":{"diagnostico": "p", )"
      R"("muestra": {"texto": "\u0061\/b 😀", "nota": 7.50, "id": 9007199254740993}}})");
  BOOST_TEST(data(large).size() > 60 * 1024U);
  BOOST_TEST(data(large).size() < 61 * 1024U);
  BOOST_CHECK_NO_THROW(json::parse(data(large)));
}

BOOST_AUTO_TEST_CASE(json_libraries_write_a_rewritten_body_again_as_it_is) {
  const auto body = webhook::rewritten_diagnosis_body(Event::evaluacion_cerrada, platform::UtcTime{}, 7, "p");
  BOOST_TEST(body ==
             R"({"data":{"datos":{"diagnostico":"p"},"entidadId":7,"mensaje":"Este aviso debe aceptarse",)"
             R"("test":true},"evento":"evaluacion.cerrada","timestamp":"1970-01-01T00:00:00.000Z"})");
}

BOOST_AUTO_TEST_CASE(without_extra_data_datos_is_an_empty_object) {
  for (const auto& extra : {json::Value(), json::Value(json::Object{})}) {
    const auto data = json::parse(webhook::test_event_data(Event::evaluacion_cerrada, 7, "E", extra));
    BOOST_REQUIRE(data.find("datos") != nullptr);
    BOOST_TEST((*data.find("datos") == json::Value(json::Object{})));
  }
}

BOOST_AUTO_TEST_CASE(the_message_names_the_event) {
  for (const Event event : webhook::all_events()) {
    const auto data = json::parse(webhook::test_event_data(event, 7, "E", nullptr));
    BOOST_TEST(data.find("mensaje")->string()->find(webhook::name(event)) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_message_id_is_stable_and_of_one_delivery) {
  BOOST_TEST(webhook::message_id(42, moment) == "msg_1795168800007_42");
  std::set<std::string> seen;
  for (const std::int64_t id : {1LL, 7LL, 71LL, 9223372036854775807LL}) {
    for (const int ms : {0, 1, 10}) {
      const std::string text = webhook::message_id(id, moment + Milliseconds(ms));
      BOOST_TEST(text == webhook::message_id(id, moment + Milliseconds(ms)));
      BOOST_TEST(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
      seen.insert(text);
    }
  }
  BOOST_TEST(seen.size() == 12U);
}

BOOST_AUTO_TEST_SUITE_END()
