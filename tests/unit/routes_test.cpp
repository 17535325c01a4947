#include "fcgi-app/routes.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(routes)

namespace {

const std::string base(api::base_path);

/// Returns the route that the request matches ("GET /webhooks"), "405 " with the allowed methods, or "404".
std::string meaning(std::string_view method, const std::string& target) {
  const api::Match match = api::match_route(method, target);
  if (match.route != nullptr)
    return std::string(match.route->method) + ' ' + std::string(match.route->pattern);
  return match.pattern.empty() ? "404" : "405 " + match.allow;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_route_of_the_table_is_reached) {
  for (const api::Route& route : api::routes()) {
    std::string path(route.pattern);
    for (const std::string open : {"{id}", "{entrega}", "{reenvio}", "{numero}"})
      if (const auto at = path.find(open); at != std::string::npos) path.replace(at, open.size(), "7");
    const api::Match match = api::match_route(route.method, base + path);
    BOOST_TEST(match.route == &route);
    BOOST_TEST(match.pattern == route.pattern);
  }
}

BOOST_AUTO_TEST_CASE(the_api_is_these_operations) {
  BOOST_TEST(api::routes().size() == 27U);
  BOOST_TEST(meaning("GET", base + "/webhooks") == "GET /webhooks");
  BOOST_TEST(meaning("POST", base + "/webhooks") == "POST /webhooks");
  BOOST_TEST(meaning("GET", base + "/webhooks/eventos") == "GET /webhooks/eventos");
  BOOST_TEST(meaning("POST", base + "/webhooks/test") == "POST /webhooks/test");
  BOOST_TEST(meaning("DELETE", base + "/webhooks/12") == "DELETE /webhooks/{id}");
  BOOST_TEST(meaning("GET", base + "/webhooks/12/entregas") == "GET /webhooks/{id}/entregas");
  BOOST_TEST(meaning("GET", base + "/webhooks/12/entregas/3") == "GET /webhooks/{id}/entregas/{entrega}");
}

BOOST_AUTO_TEST_CASE(open_segments_are_given_in_order) {
  const std::string target = base + "/webhooks/12/entregas/3?limite=1";
  const api::Match match = api::match_route("GET", target);
  BOOST_TEST(match.parameters[0] == "12");
  BOOST_TEST(match.parameters[1] == "3");
  for (const std::string path :
       {"/webhooks/12/entregas/", "/webhooks//entregas", "/webhooks/12/entrega", "/webhooks/12/entregas/3/",
        "/webhooks/12/entregas/3/4", "/webhooks/12/Entregas"})
    BOOST_TEST(meaning("GET", base + path) == "404", path);
}

BOOST_AUTO_TEST_CASE(the_parameter_is_the_segment_unchecked) {
  for (const std::string segment :
       {"12", "abc", "0", "-1", "99999999999999999999", "%31", "eventoss", "Test", "..."}) {
    std::string target = base;
    target.append("/webhooks/").append(segment);
    const api::Match match = api::match_route("DELETE", target);  // its parameters are views of `target`
    BOOST_TEST(match.pattern == "/webhooks/{id}");
    BOOST_TEST(match.parameters[0] == segment);
  }
}

BOOST_AUTO_TEST_CASE(another_method_is_405_with_the_ones_allowed) {
  for (const std::string method : {"PUT", "PATCH", "DELETE", "OPTIONS", "get", "head", "", "GET "})
    BOOST_TEST(meaning(method, base + "/webhooks") == "405 GET, HEAD, POST");
  BOOST_TEST(meaning("POST", base + "/webhooks/12") == "405 GET, HEAD, PATCH, DELETE");
  BOOST_TEST(meaning("OPTIONS", base + "/webhooks/12") == "405 GET, HEAD, PATCH, DELETE");
  BOOST_TEST(meaning("HEAD", base + "/webhooks/test") == "405 POST");
}

BOOST_AUTO_TEST_CASE(literal_segments_are_never_identifiers) {
  BOOST_TEST(meaning("DELETE", base + "/webhooks/eventos") == "405 GET, HEAD");
  BOOST_TEST(meaning("POST", base + "/webhooks/eventos") == "405 GET, HEAD");
  BOOST_TEST(meaning("DELETE", base + "/webhooks/test") == "405 POST");
  BOOST_TEST(meaning("GET", base + "/webhooks/test") == "405 POST");
}

BOOST_AUTO_TEST_CASE(any_other_path_is_unknown) {
  for (const std::string path : {"", "/", "/webhook", "/webhooks/", "/Webhooks", "//webhooks", "/webhooks//",
                                 "/webhooks/12/", "/webhooks/12/x", "/webhooks/eventos/", "/webhooks/test/",
                                 "/webhook%73", "/%77ebhooks", "/x/../webhooks", "/webhooksx"})
    BOOST_TEST(meaning("GET", base + path) == "404", path);
  for (const std::string target :
       {"", "/", "*", "/webhooks", "/apientidades/v2/webhooks", "/apientidades/v1x/webhooks",
        "/APIENTIDADES/v1/webhooks", "/apientidades//v1/webhooks", "?/apientidades/v1/webhooks"})
    BOOST_TEST(meaning("GET", target) == "404", target);
}

BOOST_AUTO_TEST_CASE(the_query_string_is_ignored) {
  BOOST_TEST(meaning("GET", base + "/webhooks?") == "GET /webhooks");
  BOOST_TEST(meaning("GET", base + "/webhooks?a=/webhooks/test?x") == "GET /webhooks");
  const std::string target = base + "/webhooks/12?force=1";
  BOOST_TEST(api::match_route("DELETE", target).parameters[0] == "12");
}

BOOST_AUTO_TEST_SUITE_END()
