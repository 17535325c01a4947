// The directives by which nginx enforces its part of limits.*.
#include "admin/output/nginx_limits.hpp"

#include <boost/test/unit_test.hpp>

using config::LimitSettings;

BOOST_AUTO_TEST_SUITE(nginx_limits)

namespace {

constexpr LimitSettings all{.requests_per_address = 1800,
                            .concurrent_requests_per_address = 100,
                            .requests_per_token = 600,
                            .test_requests_per_token = 30,
                            .pending_test_deliveries = 50,
                            .registrations = 60};

/// Drops the first line, a comment that says where the text comes from.
std::string directives(const std::string& text) { return text.substr(text.find('\n') + 1); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_limit_of_n_a_minute_lets_n_come_at_once) {
  BOOST_TEST(directives(admin::nginx_limit_zones(all)) ==
             "limit_req_zone $apientidades_network zone=apientidades_address:10m rate=1800r/m;\n"
             "limit_req_zone $apientidades_site zone=apientidades_site:10m rate=7200r/m;\n"
             "limit_req_zone $apientidades_token zone=apientidades_token:10m rate=600r/m;\n"
             "limit_req_zone $apientidades_test_token zone=apientidades_test:10m rate=30r/m;\n"
             "limit_conn_zone $apientidades_network zone=apientidades_concurrent:10m;\n"
             "limit_conn_zone $apientidades_site zone=apientidades_site_concurrent:10m;\n"
             "limit_conn_zone $apientidades_sender zone=apientidades_bodies:10m;\n"
             "limit_conn_zone $apientidades_sending_site zone=apientidades_site_bodies:10m;\n"
             "map $apientidades_test_token $apientidades_limit_wait {\n    \"\"      1;\n    default 2;\n}\n"
             "map \"\" $apientidades_rate_policy {\n"
             "    default '\"direccion\";q=1800;w=60, \"token\";q=600;w=60, \"pruebas\";q=30;w=60';\n}\n");
  BOOST_TEST(directives(admin::nginx_limits(all)) ==
             "limit_req_status     429;\nlimit_conn_status    429;\n"
             "limit_req_log_level  info;\nlimit_conn_log_level info;\n"
             "limit_req zone=apientidades_address burst=1799 nodelay;\n"
             "limit_req zone=apientidades_site burst=7199 nodelay;\n"
             "limit_req zone=apientidades_token burst=599 nodelay;\n"
             "limit_req zone=apientidades_test burst=29 nodelay;\n"
             "limit_conn apientidades_concurrent 100;\n"
             "limit_conn apientidades_site_concurrent 400;\n"
             "limit_conn apientidades_bodies 25;\n"
             "limit_conn apientidades_site_bodies 100;\n");
}

BOOST_AUTO_TEST_CASE(a_limit_of_0_is_none) {
  BOOST_TEST(admin::nginx_limits({}).find("zone=") == std::string::npos);
  BOOST_TEST(admin::nginx_limits({}).find("limit_conn apientidades") == std::string::npos);
  BOOST_TEST(admin::nginx_limit_zones({}).find("zone=") == std::string::npos);
  BOOST_TEST(admin::nginx_limit_zones({}).find("$apientidades_limit_wait") != std::string::npos);
  BOOST_TEST(admin::nginx_limit_zones({}).find("default '';") !=
             std::string::npos);  // an empty header is not sent
}

BOOST_AUTO_TEST_CASE(one_a_minute_has_no_burst_and_waits_as_nginx_rounds) {
  const LimitSettings one{.requests_per_token = 1};
  BOOST_TEST(admin::nginx_limits(one).find("limit_req zone=apientidades_token;\n") != std::string::npos);
  BOOST_TEST(admin::nginx_limit_zones(one).find("\"\"      63;") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_greatest_limits_are_those_of_nginx) {
  const LimitSettings most{.concurrent_requests_per_address = 1000000, .requests_per_token = 1000000};
  const auto text = admin::nginx_limits(most);
  BOOST_TEST(text.find("burst=999999 nodelay;\n") != std::string::npos);
  BOOST_TEST(text.find("limit_conn apientidades_concurrent 65535;\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_request_at_once_may_have_a_body) {
  BOOST_TEST(
      admin::nginx_limits({.concurrent_requests_per_address = 1}).find("limit_conn apientidades_bodies 1;") !=
      std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
