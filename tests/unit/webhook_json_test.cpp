#include "fcgi-app/handlers/webhook_json.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(webhook_json)

namespace {

using json::dump;

store::Webhook example() {
  store::Webhook webhook{};
  webhook.id = 12;
  webhook.entity = 7;
  webhook.url = "https://receptor.example.com/avisos?a=\"b\"";
  webhook.events.insert(webhook::Event::incidencia_cerrada);
  webhook.events.insert(webhook::Event::evaluacion_abierta);
  webhook.active = true;
  webhook.created = platform::UtcTime(platform::Milliseconds(1795168800123));
  return webhook;
}

const std::string created_fields = R"("id":12,"url":"https://receptor.example.com/avisos?a=\"b\"",)"
                                   R"("eventos":["evaluacion.abierta","incidencia.cerrada"],)"
                                   R"("activo":true,"fechaAlta":"2026-11-20T10:00:00.123Z")";

}  // namespace

BOOST_AUTO_TEST_CASE(creation_shows_five_fields) {
  BOOST_TEST(dump(api::created_webhook(example())) == "{" + created_fields + "}");
}

BOOST_AUTO_TEST_CASE(a_webhook_that_was_never_executed_has_nulls_and_no_error) {
  BOOST_TEST(dump(api::listed_webhook(example())) ==
             "{" + created_fields + R"(,"ultimaEjecucion":null,"ultimoEstado":null,"ultimoError":""})");
}

BOOST_AUTO_TEST_CASE(the_last_execution_is_listed) {
  store::Webhook webhook = example();
  webhook.last_execution = webhook.created + platform::Milliseconds(1000);
  webhook.last_status = 500;
  webhook.last_error = "HTTP 500";
  BOOST_TEST(
      dump(api::listed_webhook(webhook)) ==
      "{" + created_fields +
          R"(,"ultimaEjecucion":"2026-11-20T10:00:01.123Z","ultimoEstado":500,"ultimoError":"HTTP 500"})");
}

BOOST_AUTO_TEST_CASE(an_inactive_one_says_so_but_not_why) {
  store::Webhook webhook = example();
  webhook.active = false;
  webhook.inactive_reason = "operador";
  const std::string text = dump(api::listed_webhook(webhook));
  BOOST_TEST(text.find(R"("activo":false)") != std::string::npos);
  BOOST_TEST(text.find("operador") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
