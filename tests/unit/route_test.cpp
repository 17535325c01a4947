#include "dispatcher/http/route.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(route)

namespace {

using dispatcher::Addresses;
using dispatcher::route_of;

platform::IpAddress ip(const char* text) { return platform::IpAddress::parse(text).value(); }

const std::vector<config::HostOverride> overrides{{"*.receptor.test", ip("127.0.0.1")}};

}  // namespace

BOOST_AUTO_TEST_CASE(a_name_is_looked_up_in_lower_case) {
  const auto route = route_of("https://Avisos.Example.com/a?b", overrides);
  BOOST_TEST(route.host == "Avisos.Example.com");  // libcurl ignores the case
  BOOST_TEST(route.port == "443");
  BOOST_TEST(route.name == "avisos.example.com");
  BOOST_TEST(route.addresses.empty());
}

BOOST_AUTO_TEST_CASE(an_override_needs_no_lookup) {
  const auto route = route_of("https://a.receptor.test:9443/", overrides);
  BOOST_TEST(route.name.empty());
  BOOST_TEST(route.port == "9443");
  BOOST_TEST((route.addresses == Addresses{ip("127.0.0.1")}));
}

BOOST_AUTO_TEST_CASE(an_address_needs_none_either) {
  for (const auto* url : {"https://11.0.0.1/", "https://[2600::1]:444/", "https://0xb000001/"}) {
    const auto route = route_of(url, overrides);
    BOOST_TEST(route.name.empty(), url);
    BOOST_TEST(route.addresses.empty(), url);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_url_leads_nowhere) {
  const auto route = route_of("https://", overrides);
  BOOST_TEST(route.name.empty());
  BOOST_TEST(route.addresses.empty());
}

BOOST_AUTO_TEST_CASE(lines_for_libcurl) {
  const auto route = route_of("https://a.example.com/", overrides);
  BOOST_TEST(dispatcher::resolve_line(dispatcher::cache_key(route), {ip("11.0.0.1"), ip("2600::1")}) ==
             "a.example.com:443:11.0.0.1,[2600::1]");
  BOOST_TEST(dispatcher::forget_line(dispatcher::cache_key(route)) == "-a.example.com:443");
}

BOOST_AUTO_TEST_CASE(kept_routes_are_bounded) {
  dispatcher::Routes routes(overrides);
  for (std::size_t i = 0; i < 2 * dispatcher::Routes::max_kept; ++i) {
    const auto name = "h" + std::to_string(i) + ".example.com";
    BOOST_REQUIRE(routes.of("https://" + name + "/").name == name);
  }
  BOOST_TEST(routes.of("https://h1.example.com/").name == "h1.example.com");
}

BOOST_AUTO_TEST_SUITE_END()
