// Checks which values of a key load_config accepts and refuses: at a limit, just beyond it, and malformed.
#include <boost/test/unit_test.hpp>

#include "tests/unit/config_support.hpp"

using namespace std::chrono_literals;
using config::Config;
using platform::Milliseconds;
using unit::load;

namespace {

Config given(const std::string& key, const std::string& value) {
  return load({.arguments = {"--" + key, value}});
}

/// Checks that each value is refused with a message that names the key and what it accepts.
void refuses(const std::string& key, const std::vector<std::string>& values) {
  for (const auto& value : values) {
    BOOST_TEST_INFO_SCOPE(key << " = " << value);
    const auto message = unit::config_failure({.arguments = {"--" + key, value}});
    BOOST_TEST(message.starts_with("command line: " + key + " = \""), message);
    BOOST_TEST(message.find(" is not accepted; expected: ") != std::string::npos, message);
  }
}

void accepts(const std::string& key, const std::vector<std::string>& values) {
  for (const auto& value : values) {
    BOOST_TEST_INFO_SCOPE(key << " = " << value);
    BOOST_TEST(unit::config_failure({.arguments = {"--" + key, value}}) == "no error");
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(config_values_test)

BOOST_AUTO_TEST_CASE(whole_numbers) {
  accepts("api.threads", {"1", "256"});
  refuses("api.threads",
          {"", "0", "257", "-1", "+1", "1.0", "1e1", "0x10", " ", "4 ", "x", "18446744073709551617"});
  accepts("database.port", {"1", "65535"});
  refuses("database.port", {"0", "65536", "68842"});
  accepts("delivery.max_in_flight", {"1", "10000"});
  refuses("delivery.max_in_flight", {"0", "10001"});
  accepts("delivery.max_in_flight_per_webhook", {"1", "1000"});
  refuses("delivery.max_in_flight_per_webhook", {"0", "1001"});
  accepts("delivery.max_in_flight_per_host", {"1", "10000"});
  refuses("delivery.max_in_flight_per_host", {"0", "10001"});
}

BOOST_AUTO_TEST_CASE(fractions) {
  BOOST_TEST(given("delivery.retry_jitter", "0").settings.delivery.retry_jitter == 0.0);
  BOOST_TEST(given("delivery.retry_jitter", "1").settings.delivery.retry_jitter == 1.0);
  refuses("delivery.retry_jitter", {"", "-0.1", "1.01", "nan", "inf", "0,2", "20%", "0.2x"});
}

BOOST_AUTO_TEST_CASE(durations) {
  accepts("delivery.poll_interval", {"1ms", "60s", "1m"});
  refuses("delivery.poll_interval", {"", "0s", "61s", "50", "soon", "-1s", "1 s"});
  accepts("delivery.connect_timeout", {"100ms", "15s"});
  refuses("delivery.connect_timeout", {"99ms", "301s"});
  refuses("delivery.timeout", {"99ms", "301s"});
  refuses("delivery.lease", {"9s", "61m"});
  accepts("delivery.retry_after_max", {"0s", "30d"});
  refuses("delivery.retry_after_max", {"31d"});
  accepts("delivery.outage_max", {"0s", "30d"});
  refuses("delivery.outage_max", {"31d"});
  accepts("delivery.probe_interval", {"0s", "30d"});
  refuses("delivery.probe_interval", {"31d"});
  accepts("delivery.disable_after", {"0s", "366d"});
  refuses("delivery.disable_after", {"367d"});
  for (const auto* key : {"retention.delivered", "retention.failed", "retention.rejected", "retention.held",
                          "retention.audit", "retention.tests"}) {
    accepts(key, {"1m", "3660d"});
    refuses(key, {"0s", "59s", "3661d"});
  }
  accepts("limits.test_bytes", {"0", "1", "64MiB", "1048576MiB"});
  refuses("limits.test_bytes", {"-1", "64MB", "1048577MiB", "1GiB"});
}

BOOST_AUTO_TEST_CASE(the_retry_schedule) {
  const auto config = given("delivery.retry_schedule", "1ms , 30d");
  BOOST_TEST((config.settings.delivery.retry_schedule == std::vector<Milliseconds>{1ms, 720h}));
  std::string fifty = "1s";
  for (int i = 1; i < 50; ++i) fifty += ",1s";
  accepts("delivery.retry_schedule", {"5s", fifty});
  refuses("delivery.retry_schedule",
          {"", " ", ",", "5s,", ",5s", "5s,,5m", "5s;5m", "0s", "31d", fifty + ",1s"});
}

BOOST_AUTO_TEST_CASE(sizes) {
  BOOST_TEST(given("delivery.max_response", "1024").settings.delivery.max_response == 1024U);
  BOOST_TEST(given("delivery.max_response", "2KiB").settings.delivery.max_response == 2048U);
  BOOST_TEST(given("delivery.max_response", "16MiB").settings.delivery.max_response == 16777216U);
  refuses("delivery.max_response", {"", "0", "1023", "16777217", "17MiB", "64KB", "64k", "KiB", "1 MiB",
                                    "-1KiB", "1.5MiB", "18014398509481985KiB", "1GiB"});
}

// Other people's browsers make links of these.
BOOST_AUTO_TEST_CASE(contacts) {
  accepts("contact.email", {"", "a@b.es", "nombre.apellido+aviso@correo.example.org"});
  refuses("contact.email", {"soporte", "@b.es", "a@", "a@b es", "a b@c.es", "a@b.es?subject=x", "a@b@c.es",
                            "<a@b.es>", "ñ@b.es", std::string(250, 'a') + "@b.es"});
  refuses("mail.from", {"Avisos <a@b.es>", "a@b.es\r\nBcc: c@d.es"});
  accepts("contact.phone", {"", "900 123 456", "+34 (900) 12.34-56"});
  refuses("contact.phone", {"x", "+", "900;ext=1", "900\t1", "https://a.es", std::string(41, '1')});
  accepts("contact.page", {"", "https://b.es", "https://b.es:8443/soporte?x=1&y#z"});
  refuses("contact.page", {"b.es", "http://b.es", "javascript:alert(1)", "https://", "https:///x",
                           "https://b.es/a b", "https://b.es/\"x", "https://a@b.es", "https://b.es/\xc3\xb1",
                           "https://b.es/" + std::string(2000, 'x')});
}

BOOST_AUTO_TEST_CASE(the_mail_server) {
  const auto mail = [](const std::string& server) {
    return load({.arguments = {"--mail.server", server, "--mail.from", "a@b.es"}}).settings.mail;
  };
  for (const std::string server : {"smtp://localhost", "smtp://localhost:25", "smtps://mail.example.org:465",
                                   "smtp://[fd00::5]:587", "smtp://10.0.0.5"})
    BOOST_TEST(mail(server).server == server);
  refuses("mail.server", {"localhost:25", "http://a.es", "smtp://", "smtp://a.es/", "smtp://a.es/x",
                          "smtp://u:p@a.es", "smtp://a.es:0", "smtp://a b", "SMTP://a.es"});
  BOOST_TEST(unit::config_failure({.arguments = {"--mail.server", "smtp://a.es"}}) ==
             "mail.server = smtp://a.es (command line) needs mail.from, the sender of the mails");
  accepts("mail.user", {"", "avisos@example.org"});
  refuses("mail.user", {"a b", "a\r\nb", std::string(255, 'x')});
}

BOOST_AUTO_TEST_CASE(what_the_documentation_says_of_the_operator) {
  accepts("contact.name", {"", "Agencia de Calidad & Evaluación «Ñ» <1>", std::string(200, 'x')});
  refuses("contact.name", {std::string(201, 'x'), "a\tb", "a\xff", "a\xe2\x80\xae", "a\x7f"});
  accepts("api.address", {"", "https://api.example.org", "https://localhost:8443", "https://[fd00::5]"});
  refuses("api.address",
          {"api.example.org", "http://a.es", "https://", "https://a.es/", "https://a.es/x", "https://a.es?x",
           "https://a.es#x", "https://a@b.es", "https://a.es:0", "https://<a>", "https://\xc3\xb1.es"});
}

BOOST_AUTO_TEST_CASE(metrics_leave_for_this_machine_alone) {
  accepts("metrics.listen", {"", "127.0.0.1:9464", "127.255.255.254:1", "[::1]:65535"});
  refuses("metrics.listen", {"0.0.0.0:9464",
                             "10.0.0.1:9464",
                             "128.0.0.1:9464",
                             "[::]:9464",
                             "[::2]:9464",
                             "[fd00::1]:9464",
                             "9464",
                             ":9464",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:0",
                             "127.0.0.1:65536",
                             "127.0.0.1:9464s",
                             "[::1]",
                             "::1:9464",
                             "[::ffff:127.0.0.1]:9464",
                             "localhost:9464",
                             "127.1:9464",
                             "127.0.0.1:9464,0.0.0.0:80",
                             " 127.0.0.1:9464"});
  accepts("metrics.queue_interval", {"100ms", "1h"});
  refuses("metrics.queue_interval", {"", "99ms", "61m"});
  accepts("metrics.api_file", {"", "/run/a/metrics"});
  refuses("metrics.api_file", {"run/metrics"});
}

BOOST_AUTO_TEST_CASE(log_levels) {
  accepts("log.level", {"debug", "info", "warning", "error"});
  refuses("log.level", {"", "INFO", "warn", "trace", "3"});
}

BOOST_AUTO_TEST_CASE(paths) {
  accepts("database.password_file", {"", "/a b", "/á"});
  for (const auto* key : {"database.socket", "secrets.key_file"}) refuses(key, {""});
  for (const auto* key : {"database.socket", "database.password_file", "database.tls_ca", "secrets.key_file",
                          "delivery.ca_file"})
    refuses(key, {"relative", "./a", "~/a", " /a", "/a\nb"});
}

BOOST_AUTO_TEST_CASE(database_names) {
  accepts("database.name", {"apientidades", "Api_2$-x", std::string(64, 'x')});
  accepts("database.user", {"", "api.user"});
  for (const auto* key : {"database.name", "database.user"})
    refuses(key, {"a b", "a;b", "a`b", "a'b", "a/b", "ñ", "-a", std::string(65, 'x')});
  refuses("database.name", {""});
}

BOOST_AUTO_TEST_CASE(database_hosts) {
  const auto hosts = load({.arguments = {"--database.tls_ca=/ca.pem", "--database.hosts",
                                         "db1, DB-2.example.org:3307 ,10.0.0.5,[fd00::5]:3306,[fd00::6]"}});
  BOOST_TEST(
      hosts.settings.database.hosts == (std::vector<std::string>{"db1", "DB-2.example.org:3307", "10.0.0.5",
                                                                 "[fd00::5]:3306", "[fd00::6]"}),
      boost::test_tools::per_element());
  accepts("database.hosts", {"", "localhost:1", "localhost:65535", "[::1]"});
  refuses("database.hosts",
          {"a,,b", ",",         "a:",      "a:0",        "a:65536", "a:x",          ":3306",
           "a b",  "user@a",    "tcp://a", "a/b",        "::1",     "fd00::5:3306", "[::1",
           "[]",   "[::1]3306", "[::1]:",  "[10.0.0.1]", "]",       "a..b",         "a\nb"});
}

BOOST_AUTO_TEST_CASE(allowed_networks) {
  const auto networks =
      given("delivery.allowed_networks", "127.0.0.1/32, fd00::/8@*.Example.org,10.1.2.3 @ api.example.org")
          .settings.delivery;
  BOOST_REQUIRE(networks.allowed_networks.size() == 3U);
  BOOST_TEST(networks.allowed_networks[0].pattern == "");
  BOOST_TEST(networks.allowed_networks[1].network.to_string() == "fd00::/8");
  BOOST_TEST(networks.allowed_networks[1].pattern == "*.example.org");
  BOOST_TEST(networks.allowed_networks[2].network.to_string() == "10.1.2.3/32");
  BOOST_TEST(networks.allowed_networks[2].pattern == "api.example.org");
  refuses("delivery.allowed_networks",
          {"127.0.0.1/33", "10.0.0.1/8", "localhost", "10.0.0.0/8,", "10.0.0.0/8 fd00::/8", "10/8", "all",
           "10.0.0.0/8@", "10.0.0.0/8@*", "10.0.0.0/8@10.1.2.3", "10.0.0.0/8@localhost", "@a.example.org",
           "10.0.0.0/8@a.example.org@b.example.org"});
}

BOOST_AUTO_TEST_CASE(source_addresses) {
  const auto sources = given("delivery.source_addresses", "203.0.113.7, 203.0.113.8/32,2001:db8::/48")
                           .settings.delivery.source_addresses;
  BOOST_REQUIRE(sources.size() == 3U);
  BOOST_TEST((sources[0].bound && !sources[1].bound && !sources[2].bound));
  BOOST_TEST(sources[0].network.to_string() == "203.0.113.7/32");
  BOOST_TEST(sources[2].network.to_string() == "2001:db8::/48");
  refuses("delivery.source_addresses",
          {"203.0.113.7/24", "example.org", "0.0.0.0", "::", "0.0.0.0/0", "::/0", "1.2.3.4:5", "224.0.0.1",
           "255.255.255.255", "ff02::1", "::ffff:203.0.113.7"});
}

BOOST_AUTO_TEST_CASE(denied_networks) {
  const auto settings = given("delivery.denied_networks", "8.8.8.0/24, 2001:4860::/32").settings.delivery;
  BOOST_REQUIRE(settings.denied_networks.size() == 2U);
  BOOST_TEST(settings.denied_networks[1].to_string() == "2001:4860::/32");
  refuses("delivery.denied_networks", {"8.8.8.8/24", "example.org", "8.8.8.0/24@example.org"});
}

BOOST_AUTO_TEST_CASE(host_overrides) {
  const auto delivery =
      given("delivery.host_overrides", "*.Receptor.TEST=127.0.0.1, api.example.org = fd00::1")
          .settings.delivery;
  BOOST_REQUIRE(delivery.host_overrides.size() == 2U);
  BOOST_TEST(delivery.host_overrides[0].pattern == "*.receptor.test");
  BOOST_TEST(delivery.host_overrides[0].address.to_string() == "127.0.0.1");
  BOOST_TEST(delivery.host_overrides[1].pattern == "api.example.org");
  BOOST_TEST(delivery.host_overrides[1].address.to_string() == "fd00::1");
}

BOOST_AUTO_TEST_CASE(host_overrides_never_cover_an_address_or_localhost) {
  refuses("delivery.host_overrides",
          {"localhost=127.0.0.1", "LOCALHOST=127.0.0.1", "a.localhost=127.0.0.1", "*.localhost=127.0.0.1",
           "localhost.=127.0.0.1", "10.0.0.1=127.0.0.1", "*.0.0.1=127.0.0.1", "127.1=127.0.0.1",
           "2130706433=127.0.0.1", "0x7f000001=127.0.0.1", "0X7F.1=127.0.0.1", "a.0x1=127.0.0.1",
           "::1=127.0.0.1", "[::1]=127.0.0.1"});
}

BOOST_AUTO_TEST_CASE(hosts_of_a_sandbox) {
  BOOST_TEST(given("delivery.sandbox", "").settings.delivery.sandbox.empty());
  const auto delivery = given("delivery.sandbox", "none, *.Pruebas.Example.ORG").settings.delivery;
  BOOST_TEST((delivery.sandbox == std::vector<std::string>{"none", "*.pruebas.example.org"}));
  refuses("delivery.sandbox", {"*", "*.", "10.0.0.1", "[::1]", "a,,b", "https://a.example.org",
                               "a.example.org:443", "localhost"});
}

BOOST_AUTO_TEST_CASE(malformed_host_overrides) {
  refuses("delivery.host_overrides", {"a.example",
                                      "=127.0.0.1",
                                      "a.example=",
                                      "a.example=b.example",
                                      "a.example=127.0.0.1:443",
                                      "a.example=127.0.0.1=1",
                                      "*=127.0.0.1",
                                      "*.=127.0.0.1",
                                      "a.*.example=127.0.0.1",
                                      "*a.example=127.0.0.1",
                                      "**.example=127.0.0.1",
                                      ".example=127.0.0.1",
                                      "a..example=127.0.0.1",
                                      "a.example.=127.0.0.1",
                                      "ñ.example=127.0.0.1",
                                      "a b.example=127.0.0.1",
                                      "a.example:443=127.0.0.1",
                                      "a.example=127.0.0.1,",
                                      "a.example=127.0.0.0/8",
                                      std::string(64, 'x') + ".example=127.0.0.1"});
}

BOOST_AUTO_TEST_SUITE_END()
