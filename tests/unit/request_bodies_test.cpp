#include "lib/webhook/request_bodies.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/text/utf8.hpp"

using webhook::Event;
using webhook::InvalidRequest;
using webhook::parse_new_secret;
using webhook::parse_patch;
using webhook::parse_registration;
using webhook::parse_replay;
using webhook::parse_test_event_request;
using webhook::Registration;

namespace {

Registration registration(const std::string& body) { return parse_registration(body, {}); }

/// The message with which `parse` refuses its body; "accepted" when it does not.
template <class Parse>
std::string refused_by(Parse&& parse) try {
  parse();
  return "accepted";
} catch (const InvalidRequest& error) {
  return error.what();
}

std::string refusal(const std::string& body) {
  return refused_by([&] { parse_registration(body, {}); });
}

std::string test_refusal(const std::string& body) {
  return refused_by([&] { parse_test_event_request(body); });
}

std::string replay_refusal(const std::string& rest) {
  return refused_by([&] { parse_replay(R"({"desde":"2026-11-20T10:00:00Z")" + rest + "}"); });
}

std::string with_events(const std::string& events) {
  return R"({"url":"https://example.com/x","eventos":)" + events + "}";
}

std::string with_secret(const std::string& secret) {
  return R"({"url":"https://example.com/x","eventos":["incidencia.cerrada"],"secreto":)" + secret + "}";
}

std::string with_url(const std::string& url) {
  return R"({"url":)" + url + R"(,"eventos":["incidencia.cerrada"]})";
}

std::string repeat(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(registration_request)

BOOST_AUTO_TEST_CASE(a_complete_registration) {
  const Registration result = registration(
      R"({"url":"https://españa.es/x","eventos":["incidencia.cerrada","evaluacion.abierta","incidencia.cerrada"],)"
      R"("secreto":"ñ\u0000","otro":[1]})");
  BOOST_TEST(result.url == "https://xn--espaa-rta.es/x");
  BOOST_TEST((result.events.events() == std::vector{Event::evaluacion_abierta, Event::incidencia_cerrada}));
  BOOST_TEST((result.secret == std::string("ñ\0", 3)));
}

BOOST_AUTO_TEST_CASE(the_body_is_an_object) {
  for (const auto* body : {"[]", "null", "\"x\"", "5"}) {
    BOOST_TEST(refusal(body) == "El cuerpo debe ser un objeto JSON");
    BOOST_TEST(test_refusal(body) == "El cuerpo debe ser un objeto JSON");
  }
  for (const auto* body : {"", "{", "{}x", "{\"url\":1,\"url\":2}"}) {
    BOOST_TEST(refusal(body).starts_with("JSON no válido: "));
    BOOST_TEST(test_refusal(body).starts_with("JSON no válido: "));
  }
}

BOOST_AUTO_TEST_CASE(url) {
  BOOST_TEST(refusal("{}").starts_with("url: no puede estar vacía"));
  BOOST_TEST(refusal(with_url("null")).starts_with("url: no puede estar vacía"));
  BOOST_TEST(refusal(with_url("\"\"")).starts_with("url: no puede estar vacía"));
  BOOST_TEST(refusal(with_url("5")) == "url: debe ser una cadena");
  BOOST_TEST(refusal(with_url("[\"https://example.com\"]")) == "url: debe ser una cadena");
  BOOST_TEST(refusal(with_url("\"http://example.com\"")).starts_with("url: debe empezar por https://"));
  BOOST_TEST(
      refusal(with_url("\"https://10.1.2.3\"")).starts_with("url: no puede apuntar a una dirección local"));
}

BOOST_AUTO_TEST_CASE(an_overridden_host_is_accepted) {
  const std::vector<config::HostOverride> overrides{{"*.receptor.test", platform::IpAddress{}}};
  BOOST_TEST(
      parse_registration(R"({"url":"https://a.receptor.test/","eventos":["incidencia.cerrada"]})", overrides)
          .url == "https://a.receptor.test/");
}

BOOST_AUTO_TEST_CASE(events_present) {
  for (const auto* events : {"[]", "null"}) {
    BOOST_TEST(refusal(with_events(events)) == "eventos: indique al menos un evento");
  }
  BOOST_TEST(refusal(R"({"url":"https://example.com/x"})") == "eventos: indique al menos un evento");
  for (const auto* events : {"\"incidencia.cerrada\"", "{}", "1", "true"}) {
    BOOST_TEST(refusal(with_events(events)) == "eventos: debe ser una lista de nombres de evento");
  }
}

BOOST_AUTO_TEST_CASE(every_event_of_the_catalogue_is_valid) {
  std::string names;
  for (const Event event : webhook::all_events())
    names += (names.empty() ? "\"" : ",\"") + std::string(name(event)) + '"';
  BOOST_TEST(registration(with_events("[" + names + "]")).events.events().size() == webhook::event_count);
}

BOOST_AUTO_TEST_CASE(offending_names_are_told) {
  BOOST_TEST(refusal(with_events(R"(["nada"])")) == "Eventos no válidos: nada");
  // what() returns a C string: a zero byte in a name must not hide the names after it.
  BOOST_TEST(refusal(with_events(R"(["x\u0000y","a"])")) == R"(Eventos no válidos: "x\u0000y", a)");
  BOOST_TEST(refusal(with_events(R"(["b","incidencia.cerrada","a","b"])")) == "Eventos no válidos: b, a");
  BOOST_TEST(refusal(with_events(R"(["Incidencia.Cerrada","incidencia.cerrada "])")) ==
             "Eventos no válidos: Incidencia.Cerrada, incidencia.cerrada ");
  BOOST_TEST(refusal(with_events(R"(["",1.50,null,["x"],{"a":true}])")) ==
             R"(Eventos no válidos: "", 1.50, null, ["x"], {"a":true})");
}

BOOST_AUTO_TEST_CASE(what_is_echoed_is_capped) {
  const std::string prefix = "Eventos no válidos: ";
  const auto of_one = "[\"x" + repeat("ñ", 5000) + "\"]";
  const auto of_many =
      "[" + repeat("[0,[1]],", 1000) + repeat("\"🙂\",", 9) + "\"" + repeat("🙂", 400) + "\"]";
  for (const auto& events : {of_one, of_many}) {
    const std::string message = refusal(with_events(events));
    BOOST_TEST(message.starts_with(prefix));
    BOOST_TEST(message.ends_with("…"));
    BOOST_TEST(message.size() <= prefix.size() + 500 + std::string("…").size());
    BOOST_TEST(text::count_characters(message).has_value());
  }
}

BOOST_AUTO_TEST_CASE(many_offending_names_are_cheap) {
  std::string events = "[\"a0\"";
  for (int i = 1; i < 8000; ++i) events += ",\"a" + std::to_string(i) + '"';
  BOOST_TEST(refusal(with_events(events + "]")).starts_with("Eventos no válidos: a0, a1, a2"));
}

BOOST_AUTO_TEST_CASE(secret) {
  for (const auto* none : {"null", "\"\""}) BOOST_TEST(!registration(with_secret(none)).secret.has_value());
  BOOST_TEST(!registration(with_events(R"(["incidencia.cerrada"])")).secret.has_value());
  BOOST_TEST(*registration(with_secret("\" x \"")).secret == " x ");
  BOOST_TEST(refusal(with_secret("5")) == "secreto: debe ser una cadena");
  BOOST_TEST(refusal(with_secret("[]")) == "secreto: debe ser una cadena");
}

BOOST_AUTO_TEST_CASE(the_secret_counts_characters) {
  BOOST_TEST(registration(with_secret('"' + repeat("🙂", 512) + '"')).secret->size() == 4U * 512);
  BOOST_TEST(refusal(with_secret('"' + repeat("a", 513) + '"')) ==
             "secreto: no puede pasar de 512 caracteres");
  BOOST_TEST(refusal(with_secret('"' + repeat("🙂", 513) + '"')) ==
             "secreto: no puede pasar de 512 caracteres");
}

BOOST_AUTO_TEST_CASE(the_first_rule_of_the_table_wins) {
  const std::string long_secret = '"' + repeat("a", 513) + '"';
  BOOST_TEST(refusal(R"({"secreto":5,"eventos":5,"url":5})") == "url: debe ser una cadena");
  BOOST_TEST(
      refusal(R"({"secreto":5,"eventos":5,"url":"https://localhost"})").starts_with("url: no puede apuntar"));
  BOOST_TEST(
      refusal(R"({"secreto":5,"eventos":[],"url":"https://example.com"})").starts_with("eventos: indique"));
  BOOST_TEST(refusal(R"({"secreto":)" + long_secret + R"(,"eventos":["x"],"url":"https://example.com"})") ==
             "Eventos no válidos: x");
}

BOOST_AUTO_TEST_CASE(a_test_request) {
  const auto plain = parse_test_event_request(R"({"evento":"incidencia.respuesta"})");
  BOOST_TEST((plain.event == Event::incidencia_respuesta));
  BOOST_TEST(plain.extra.is_null());
  BOOST_TEST(
      parse_test_event_request(R"({"evento":"incidencia.respuesta","datosExtra":null})").extra.is_null());
  const auto extra =
      parse_test_event_request(R"({"datosExtra":{"b":7.50,"a":{}},"evento":"evaluacion.abierta","x":1})");
  BOOST_TEST(json::dump(extra.extra) == R"({"b":7.50,"a":{}})");
}

// MariaDB's JSON_VALID accepts 31 levels, and `data` adds one.
BOOST_AUTO_TEST_CASE(a_test_of_one_webhook_has_the_same_members_and_no_other) {
  const auto test =
      webhook::parse_webhook_test_request(R"({"datosExtra":{"a":1},"evento":"evaluacion.abierta"})");
  BOOST_TEST(name(test.event) == "evaluacion.abierta");
  BOOST_TEST(json::dump(test.extra) == R"({"a":1})");
  const auto refusal = [](std::string_view body) {
    return refused_by([&] { webhook::parse_webhook_test_request(body); });
  };
  BOOST_TEST(refusal(R"({"evento":"evaluacion.abierta","x":1})") == "Solo se admiten evento y datosExtra");
  BOOST_TEST(refusal(R"({"evento":"evaluacion.abierta","datosExtra":[]})") ==
             "datosExtra: debe ser un objeto");
  BOOST_TEST(refusal("{}").starts_with("evento: indique"));
}

BOOST_AUTO_TEST_CASE(extra_data_has_at_most_30_levels) {
  const auto body = [](std::size_t levels) {
    return R"({"evento":"evaluacion.abierta","datosExtra":)" + repeat(R"({"a":)", levels) + "1" +
           repeat("}", levels) + "}";
  };
  BOOST_TEST(test_refusal(body(30)) == "accepted");
  BOOST_TEST(test_refusal(body(31)) == "datosExtra: no puede pasar de 30 niveles de listas y objetos");
}

BOOST_AUTO_TEST_CASE(what_a_test_request_must_have) {
  for (const auto* body : {"{}", R"({"evento":null})", R"({"evento":""})"}) {
    BOOST_TEST(test_refusal(body).starts_with("evento: indique el nombre de un evento"));
  }
  BOOST_TEST(test_refusal(R"({"evento":7})") == "evento: debe ser una cadena");
  BOOST_TEST(test_refusal(R"({"evento":"nada"})").starts_with("evento: no es un evento válido"));
  for (const auto* extra : {"[]", "1", "\"x\"", "false"}) {
    BOOST_TEST(test_refusal(R"({"evento":"evaluacion.abierta","datosExtra":)" + std::string(extra) + "}") ==
               "datosExtra: debe ser un objeto");
  }
}

BOOST_AUTO_TEST_CASE(a_replay_covers_the_states_that_are_named_and_no_other) {
  const auto states = [](const std::string& named) {
    const auto request = parse_replay(R"({"desde":"2026-11-20T10:00:00Z","estados":)" + named + "}");
    return std::string(request.failed ? "failed " : "") + (request.delivered ? "delivered" : "");
  };
  BOOST_TEST(states("null") == "failed ");
  BOOST_TEST(states(R"(["fallida"])") == "failed ");
  BOOST_TEST(states(R"(["entregada"])") == "delivered");
  BOOST_TEST(states(R"(["entregada","fallida","entregada"])") == "failed delivered");
  for (const auto* named : {"[]", "{}", "\"fallida\"", R"(["pendiente"])", R"(["fallida",null])"})
    BOOST_TEST(replay_refusal(R"(,"estados":)" + std::string(named)) ==
               "estados: debe ser una lista con fallida, entregada o ambas");
}

BOOST_AUTO_TEST_CASE(a_replay_is_from_a_time_to_a_time_not_before_it) {
  const auto request =
      parse_replay(R"({"desde":"2026-11-20T10:00:00Z","hasta":"2026-11-20T10:00:00Z","simular":true})");
  BOOST_TEST((request.until == request.since && request.simulate && !request.events));
  BOOST_TEST(replay_refusal(R"(,"hasta":"2026-11-20T09:59:59.999Z")") ==
             "desde: no puede ser posterior a hasta");
  BOOST_TEST(replay_refusal(R"(,"simular":1)") == "simular: debe ser true o false");
  BOOST_TEST(replay_refusal(R"(,"otro":1)") == "Solo se admiten desde, hasta, eventos, estados y simular");
  BOOST_TEST(refused_by([] { parse_replay("{}"); }).starts_with("desde: indique"));
}

BOOST_AUTO_TEST_CASE(a_new_secret_has_a_grace_of_a_day_unless_it_says_another_up_to_a_week) {
  const auto with_grace = [](const std::string& grace) {
    return R"({"secreto":"uno","graciaSegundos":)" + grace + "}";
  };
  BOOST_TEST(parse_new_secret(R"({"secreto":"uno"})").grace.count() == 86'400);
  BOOST_TEST(parse_new_secret(with_grace("null")).grace.count() == 86'400);
  for (const auto& [text, seconds] : {std::pair{"0", 0}, {"1", 1}, {"604800", 604'800}, {"6048e2", 604'800}})
    BOOST_TEST(parse_new_secret(with_grace(text)).grace.count() == seconds);
  for (const auto* grace : {"-1", "604801", "1.5", "\"1\""})
    BOOST_TEST(refused_by([&] { parse_new_secret(with_grace(grace)); }) ==
               "graciaSegundos: debe ser un número entero de 0 a 604800");
  BOOST_TEST(
      refused_by([] { parse_new_secret(R"({"secreto":""})"); }).starts_with("secreto: no puede estar"));
}

BOOST_AUTO_TEST_CASE(a_patch_changes_what_it_names) {
  const auto none = parse_patch("{}", {});
  BOOST_TEST((!none.url && !none.events && !none.active));
  BOOST_TEST(*parse_patch(R"({"activo":true})", {}).active);
  BOOST_TEST(!*parse_patch(R"({"activo":false})", {}).active);
  for (const auto* body : {R"({"activo":null})", R"({"activo":1})"})
    BOOST_TEST(refused_by([&] { parse_patch(body, {}); }) == "activo: debe ser true o false");
  BOOST_TEST(
      refused_by([] { parse_patch(R"({"secreto":"uno"})", {}); }).starts_with("secreto: se cambia con"));
  BOOST_TEST(refused_by([] { parse_patch(R"({"id":1})", {}); }) ==
             "Solo se pueden cambiar url, eventos, activo y nombre");
}

BOOST_AUTO_TEST_SUITE_END()
