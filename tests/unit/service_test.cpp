// The whole API except the database: the look-up of the caller is a stub, and the session is never connected.
#include "fcgi-app/service.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "lib/json/json.hpp"
#include "lib/webhook/access_token.hpp"

BOOST_AUTO_TEST_SUITE(service)

namespace {

const std::string good_token = webhook::generate_access_token();

store::Webhook subscribed_to(webhook::Event event, bool active) {
  store::Webhook webhook{};
  webhook.id = active ? 1 : 2;
  webhook.url = "https://receptor.example.com/";
  webhook.events.insert(event);
  webhook.active = active;
  return webhook;
}

using Callers = api::CallerLookup::Callers;
using Hashes = std::span<const store::TokenHash>;

Callers stub(store::Session&, Hashes hashes, store::CallerWith) {
  if (hashes.front() != webhook::access_token_hash(good_token)) return {std::nullopt};
  return {store::Caller{7,
                        "Entidad",
                        {subscribed_to(webhook::Event::evaluacion_abierta, true),
                         subscribed_to(webhook::Event::evaluacion_cerrada, false)}}};
}

Callers no_database(store::Session&, Hashes, store::CallerWith) {
  throw store::Unavailable(2002, "Can't connect to 10.1.2.3");
}

Callers in_conflict(store::Session&, Hashes, store::CallerWith) {
  throw store::Conflict(1213, "Deadlock found");
}

Callers broken(store::Session&, Hashes, store::CallerWith) {
  throw store::DatabaseError(1146, "Table 'webhooks' doesn't exist");
}

struct Call {
  std::string method = "GET";
  std::string path = "/webhooks";
  std::string authorization = "Bearer " + good_token;
  std::string content_type = {};
  std::string body = {};
  api::BodyState body_state = api::BodyState::complete;
  api::Preconditions preconditions = {};
  std::optional<std::string> content_encoding = {};
};

/// Answers `call` while `others` requests of the same entity are in progress; nullopt: the call has to wait.
std::optional<api::Response> respond_beside(unsigned others, const Call& call,
                                            const api::CallerLookup::FindCallers& find_callers = stub) {
  const platform::Log log(platform::LogLevel::error);
  api::Observation observation({}, log);
  const api::Shared shared{
      webhook::SharedKeys(webhook::KeyRing::parse("k:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")),
      {},
      log,
      observation};
  api::CallerLookup callers(store::Session({}, {"nobody"}), find_callers);
  api::RequestPlaces places(api::concurrency_limits(16));
  for (unsigned i = 0; i < others; ++i) places.enter(7);
  api::Service service(shared, callers, places, store::Session({}, {"nobody"}));
  const std::string target = std::string(api::base_path) + call.path;
  api::Request request{.id = "req-1",
                       .method = call.method,
                       .target = target,
                       .authorization = call.authorization,
                       .content_type = call.content_type,
                       .body = call.body,
                       .body_state = call.body_state,
                       .preconditions = call.preconditions,
                       .content_encoding = call.content_encoding};
  auto response = service.respond(request);
  BOOST_TEST((response || (request.entity == 7 && !request.has_place)));
  if (!response) BOOST_TEST(service.refuse(request).status == 429);
  return response;
}

api::Response respond(const Call& call, const api::CallerLookup::FindCallers& find_callers = stub) {
  return respond_beside(0, call, find_callers).value();
}

Call post(const std::string& path, const std::string& body,
          const std::string& content_type = "application/json") {
  return {.method = "POST", .path = path, .content_type = content_type, .body = body};
}

std::string message(const api::Response& response) {
  const json::Value body = json::parse(response.body);
  const json::Value* text = body.find("message");
  BOOST_REQUIRE(text != nullptr && text->string() != nullptr);
  BOOST_TEST(body.object()->size() == 1U);
  return *text->string();
}

/// The pattern with a 1 for each parameter of the path.
std::string path_of(const api::Route& route) {
  std::string path(route.pattern);
  for (auto at = path.find('{'); at != std::string::npos; at = path.find('{'))
    path.replace(at, path.find('}') - at + 1, "1");
  return path;
}

std::string header(const api::Response& response, const std::string& name) {
  for (const api::Header& h : response.headers)
    if (h.name == name) return h.value;
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_credentials_401_and_a_bare_challenge) {
  const api::Response response = respond({.authorization = ""});
  BOOST_TEST(response.status == 401);
  BOOST_TEST(header(response, "WWW-Authenticate") == "Bearer");
  BOOST_TEST(!message(response).empty());
}

BOOST_AUTO_TEST_CASE(with_bad_credentials_401_and_the_error_code) {
  for (const std::string& credentials : std::vector<std::string>{
           "Bearer x", "Basic dTpw", "Bearer", "Bearer " + webhook::generate_access_token(), good_token}) {
    const api::Response response = respond({.authorization = credentials});
    BOOST_TEST(response.status == 401);
    BOOST_TEST(header(response, "WWW-Authenticate") == "Bearer error=\"invalid_token\"");
  }
}

BOOST_AUTO_TEST_CASE(the_case_of_the_scheme_does_not_matter) {
  BOOST_TEST(respond({.authorization = "bEARER " + good_token}).status == 200);
}

BOOST_AUTO_TEST_CASE(an_excess_request_waits_after_its_authentication) {
  BOOST_TEST(respond_beside(1, {}).has_value());
  BOOST_TEST(!respond_beside(2, {}).has_value());
  BOOST_TEST(!respond_beside(2, {.path = "/nada"}).has_value());
  BOOST_TEST(respond_beside(2, {.authorization = ""}).value().status == 401);
}

BOOST_AUTO_TEST_CASE(checks_come_in_the_order_of_the_design) {
  // The first call fails many checks. Each answer is that of the earliest check that still fails.
  Call call{
      .method = "POST", .path = "/nada", .authorization = "", .content_type = "text/plain", .body = "{"};
  call.body_state = api::BodyState::too_large;
  BOOST_TEST(respond(call).status == 413);
  call.body_state = api::BodyState::malformed;
  BOOST_TEST(respond(call).status == 400);
  call.body_state = api::BodyState::complete;
  BOOST_TEST(respond(call).status == 401);
  call.authorization = "Bearer " + good_token;
  BOOST_TEST(respond(call).status == 404);
  call.path = "/webhooks/eventos";
  BOOST_TEST(respond(call).status == 405);
  BOOST_TEST(header(respond(call), "Allow") == "GET, HEAD");
  call.path = "/webhooks/test";
  BOOST_TEST(respond(call).status == 415);
  call.content_type = "application/json";
  BOOST_TEST(respond(call).status == 400);
  call.body = R"({"evento":"documento.disponible"})";
  BOOST_TEST(respond(call).status == 404);
}

BOOST_AUTO_TEST_CASE(head_is_answered_as_get_and_options_is_not) {
  BOOST_TEST(respond({.method = "HEAD"}).status == 200);
  BOOST_TEST(respond({.method = "HEAD"}).body == respond({}).body);  // fastcgi.cpp leaves it out
  BOOST_TEST(respond({.method = "OPTIONS"}).status == 405);
  BOOST_TEST(header(respond({.method = "OPTIONS"}), "Allow") == "GET, HEAD, POST");
  for (const std::string method : {"HEAD", "OPTIONS"})
    BOOST_TEST(respond({.method = method, .authorization = ""}).status == 401);
}

BOOST_AUTO_TEST_CASE(what_counts_as_json) {
  for (const std::string type : {"application/json", "Application/JSON", "application/json;charset=utf-8",
                                 "application/json ; charset=\"utf-8\"", "application/json;"})
    BOOST_TEST(api::is_json(type), type);
  for (const std::string type :
       {"", ";", "text/json", "application/json5", "application/jso", "application/problem+json",
        "application json", "application/x-www-form-urlencoded", "text/plain;application/json"})
    BOOST_TEST(!api::is_json(type), type);
}

BOOST_AUTO_TEST_CASE(only_operations_with_a_body_ask_for_its_type) {
  BOOST_TEST(respond({.content_type = "text/plain"}).status == 200);
  BOOST_TEST(respond({.method = "DELETE", .path = "/webhooks/abc", .content_type = "text/plain"}).status ==
             404);
}

BOOST_AUTO_TEST_CASE(events_are_the_eleven_in_order) {
  const api::Response response = respond({.path = "/webhooks/eventos"});
  BOOST_TEST(response.status == 200);
  BOOST_TEST(response.body ==
             R"({"eventos":["evaluacion.abierta","evaluacion.prorroga","evaluacion.cierre_proximo",)"
             R"("evaluacion.cerrada","resultados.provisionales","resultados.definitivos",)"
             R"("alegaciones.periodo_abierto","alegaciones.periodo_cierre","incidencia.respuesta",)"
             R"("incidencia.cerrada","documento.disponible"]})");
}

BOOST_AUTO_TEST_CASE(the_list_is_an_array_of_the_callers_webhooks) {
  const api::Response response = respond({});
  BOOST_TEST(response.status == 200);
  const json::Value list = json::parse(response.body);
  BOOST_REQUIRE(list.array() != nullptr);
  BOOST_TEST(list.array()->size() == 2U);
  BOOST_TEST(list.array()->front().object()->size() == 8U);
}

BOOST_AUTO_TEST_CASE(an_invalid_identifier_is_404) {
  std::string same;
  for (const std::string id :
       {"abc", "0", "-1", "+1", "007", "1x", "1%20", "99999999999999999999", "9223372036854775808"}) {
    const api::Response response = respond({.method = "DELETE", .path = "/webhooks/" + id});
    BOOST_TEST(response.status == 404, id);
    if (same.empty()) same = response.body;
    BOOST_TEST(response.body == same);
    BOOST_TEST(response.headers.empty());
  }
}

BOOST_AUTO_TEST_CASE(an_invalid_registration_is_400_with_its_reason) {
  for (const std::string body :
       {"", "{", "[]", "null", "{}", R"({"url":"http://a.example.com/","eventos":["x"]})"}) {
    const api::Response response = respond(post("/webhooks", body));
    BOOST_TEST(response.status == 400, body);
    BOOST_TEST(!message(response).empty());
  }
  const auto bad_event =
      respond(post("/webhooks", R"({"url":"https://a.example.com/","eventos":["x","y"]})"));
  BOOST_TEST(message(bad_event) == "Eventos no válidos: x, y");
}

BOOST_AUTO_TEST_CASE(a_test_of_an_invalid_event_is_400) {
  for (const std::string body : {"", "{}", R"({"evento":""})", R"({"evento":"x"})", R"({"evento":7})"})
    BOOST_TEST(respond(post("/webhooks/test", body)).status == 400, body);
}

BOOST_AUTO_TEST_CASE(a_test_event_without_an_active_subscriber_is_404) {
  const auto unsubscribed = respond(post("/webhooks/test", R"({"evento":"documento.disponible"})"));
  BOOST_TEST(unsubscribed.status == 404);
  BOOST_TEST(message(unsubscribed) == "Ningún webhook activo está suscrito al evento 'documento.disponible'");
  const auto inactive = respond(post("/webhooks/test", R"({"evento":"evaluacion.cerrada"})"));
  BOOST_TEST(inactive.status == 404);
}

BOOST_AUTO_TEST_CASE(registrations_and_deletions_load_no_webhooks) {
  const auto asked_with = [](const Call& call) {
    std::optional<store::CallerWith> asked;
    const auto status = respond(call, [&](store::Session&, Hashes, store::CallerWith with) -> Callers {
                          asked = with;
                          return {std::nullopt};
                        }).status;
    BOOST_TEST(status == 401);
    return asked.value();
  };
  using enum store::CallerWith;
  BOOST_CHECK(asked_with(post("/webhooks", "{}")) == nothing_else);
  BOOST_CHECK(asked_with({.method = "DELETE", .path = "/webhooks/1"}) == nothing_else);
  BOOST_CHECK(asked_with({.path = "/webhooks"}) == webhooks);
  BOOST_CHECK(asked_with({.method = "PATCH", .path = "/webhooks/1"}) == webhooks);
  BOOST_CHECK(asked_with(post("/webhooks/test", "{}")) == webhooks);
}

BOOST_AUTO_TEST_CASE(while_the_database_is_away_503_and_when_to_come_back) {
  for (const auto find_callers : {no_database, in_conflict}) {
    const api::Response response = respond({}, find_callers);
    BOOST_TEST(response.status == 503);
    BOOST_TEST(header(response, "Retry-After") == "5");
    BOOST_TEST(response.body.find("10.1.2.3") == std::string::npos);
    BOOST_TEST(!message(response).empty());
  }
  BOOST_TEST(respond({.authorization = ""}, no_database).status == 401);  // needs no database
}

BOOST_AUTO_TEST_CASE(anything_else_is_500_that_says_nothing_of_the_inside) {
  const api::Response response = respond({}, broken);
  BOOST_TEST(response.status == 500);
  BOOST_TEST(message(response) == "Error interno del servicio");
}

// RFC 9110 section 8.4.
BOOST_AUTO_TEST_CASE(a_body_in_a_coding_is_415) {
  for (const auto* coding : {"gzip", "br", "identity, gzip", "identity, identity", "x", "gzip, "}) {
    auto call = post("/webhooks/test", "{}");
    call.content_encoding = coding;
    const auto response = respond(call);
    BOOST_TEST(response.status == 415, coding);
    BOOST_TEST(header(response, "Accept-Encoding") == "identity");
    call.method = "PATCH";
    call.path = "/webhooks/1";
    BOOST_TEST(respond(call).status == 415, coding);
    call.method = "DELETE";  // its body is not looked at
    BOOST_TEST(respond(call).status != 415, coding);
  }
  for (const auto* none : {"identity", " IDENTITY ", ""}) {
    auto call = post("/webhooks/test", "{}");
    call.content_encoding = none;
    BOOST_TEST(respond(call).status == 400, none);
  }
}

BOOST_AUTO_TEST_CASE(routes_refuse_parameters_but_for_these) {
  std::vector<std::string> accepting;
  for (const api::Route& route : api::routes()) {
    const auto response = respond({.method = std::string(route.method),
                                   .path = path_of(route) + "?x=1",
                                   .content_type = "application/json",
                                   .body = "[]"});
    if (response.body != R"({"message":"Este recurso no admite parámetros en la consulta"})")
      accepting.push_back(std::string(route.method) + ' ' + std::string(route.pattern));
    else
      BOOST_TEST(response.status == 400);
  }
  const std::vector<std::string> these{"GET /actividad",
                                       "GET /entregas",
                                       "GET /reenvios",
                                       "GET /webhooks",
                                       "POST /webhooks",
                                       "GET /webhooks/eventos",
                                       "POST /webhooks/test",
                                       "DELETE /webhooks/{id}",
                                       "GET /webhooks/{id}/entregas",
                                       "GET /webhooks/{id}/estadisticas"};
  BOOST_TEST(accepting == these, boost::test_tools::per_element());
}

// RFC 9110 section 13.1.
BOOST_AUTO_TEST_CASE(no_route_makes_a_change_without_the_conditions_that_it_came_with) {
  const auto status = [](const api::Route& route, const api::Preconditions& conditions) {
    Call call{.method = std::string(route.method),
              .path = path_of(route),
              .content_type = "application/json",
              .body = "[]"};
    call.preconditions = conditions;
    return respond(call).status;
  };
  const auto* date = "Fri, 20 Nov 2026 10:00:00 GMT";
  std::size_t changing = 0;
  for (const api::Route& route : api::routes()) {
    BOOST_TEST_CONTEXT(route.method << ' ' << route.pattern) {
      if (route.method == "GET") {
        BOOST_TEST(status(route, {R"("x")", "*", date}) != 412);
        continue;
      }
      ++changing;
      BOOST_TEST(status(route, {}) != 412);
      for (const auto* named : {"", "*", R"("x")"}) {
        BOOST_TEST((status(route, {.if_match = named}) == 412) == !route.has_etag);
        BOOST_TEST((status(route, {.if_none_match = named}) == 412) == !route.has_etag);
      }
      BOOST_TEST(status(route, {.if_unmodified_since = date}) == 412);
      BOOST_TEST((status(route, {.if_match = "*", .if_unmodified_since = date}) == 412) == !route.has_etag);
    }
  }
  BOOST_TEST(changing > 5U);
}

BOOST_AUTO_TEST_SUITE_END()
