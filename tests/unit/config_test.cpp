#include "lib/config/config.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "lib/platform/file.hpp"
#include "tests/unit/child.hpp"
#include "tests/unit/config_support.hpp"

using namespace std::chrono_literals;
using namespace config;
using namespace platform;
using unit::config_failure;
using unit::load;
using unit::value_in_force;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string with_argument(const std::string& argument) { return config_failure({.arguments = {argument}}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(config_test)

BOOST_AUTO_TEST_CASE(every_key_has_its_documented_default) {
  const auto config = load({});
  const auto& s = config.settings;
  BOOST_TEST(s.database.hosts.empty());
  BOOST_TEST(s.database.socket == "/run/mysqld/mysqld.sock");
  BOOST_TEST(s.database.port == 3306);
  BOOST_TEST(s.database.name == "apientidades");
  BOOST_TEST((s.database.user.empty() && s.database.password_file.empty() && s.database.tls_ca.empty()));
  BOOST_TEST(s.database.evaluation_connections == 50U);
  BOOST_TEST(s.api.threads == 16U);
  BOOST_TEST(s.secrets.key_file == "/etc/apientidades/secrets.keys");
  BOOST_TEST((s.delivery.poll_interval == 50ms));
  BOOST_TEST(s.delivery.max_in_flight == 512U);
  BOOST_TEST(s.delivery.max_in_flight_per_webhook == 10U);
  BOOST_TEST(s.delivery.max_in_flight_per_host == 50U);
  BOOST_TEST((s.delivery.connect_timeout == 5s && s.delivery.timeout == 15s && s.delivery.lease == 60s));
  BOOST_TEST(
      (s.delivery.retry_schedule == std::vector<Milliseconds>{5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h}));
  BOOST_TEST(s.delivery.retry_jitter == 0.2);
  BOOST_TEST((s.delivery.probe_interval == 15min && s.delivery.outage_max == 24h));
  BOOST_TEST((s.delivery.retry_after_max == 24h && s.delivery.disable_after == 120h));
  BOOST_TEST((s.delivery.allowed_networks.empty() && s.delivery.host_overrides.empty()));
  BOOST_TEST(s.delivery.ca_file.empty());
  BOOST_TEST(s.delivery.max_response == 65536U);
  BOOST_TEST((s.retention.delivered == 720h && s.retention.failed == 2160h && s.retention.rejected == 2160h &&
              s.retention.held == 2160h && s.retention.audit == 2160h && s.retention.tests == 48h));
  BOOST_TEST(s.limits.requests_per_address == 1800U);
  BOOST_TEST(s.limits.concurrent_requests_per_address == 100U);
  BOOST_TEST(s.limits.requests_per_token == 600U);
  BOOST_TEST(s.limits.test_requests_per_token == 30U);
  BOOST_TEST(s.limits.pending_test_deliveries == 50U);
  BOOST_TEST((s.limits.registrations == 60U && s.limits.replayed == 10000U));
  BOOST_TEST((s.limits.replay_requests == 60U && s.limits.diagnostics == 6U));
  BOOST_TEST((s.limits.test_bytes == 64U * 1024 * 1024 && s.limits.contact_codes == 5U));
  BOOST_TEST((s.contact.name.empty() && s.api.address.empty()));
  BOOST_TEST((s.contact.email.empty() && s.contact.phone.empty() && s.contact.page.empty()));
  BOOST_TEST((s.mail.server.empty() && s.mail.from.empty() && s.mail.operator_address.empty()));
  BOOST_TEST((s.metrics.listen.empty() && s.metrics.api_file.empty() && s.metrics.queue_interval == 15s));
  BOOST_TEST((s.log.level == LogLevel::info));
}

BOOST_AUTO_TEST_CASE(each_limit_is_read_into_its_own_setting) {
  const auto limits =
      load({.file = "[limits]\nrequests_per_address = 1\nconcurrent_requests_per_address = 2\n"
                    "requests_per_token = 3\ntest_requests_per_token = 1000000\n"
                    "pending_test_deliveries = 0\nregistrations = 0\nreplayed = 5\n"
                    "replay_requests = 6\ndiagnostics = 8\ntest_bytes = 7KiB\n"})
          .settings.limits;
  BOOST_TEST((limits.requests_per_address == 1U && limits.concurrent_requests_per_address == 2U));
  BOOST_TEST((limits.requests_per_token == 3U && limits.test_requests_per_token == 1000000U));
  BOOST_TEST((limits.pending_test_deliveries == 0U && limits.registrations == 0U && limits.replayed == 5U));
  BOOST_TEST((limits.replay_requests == 6U && limits.diagnostics == 8U && limits.test_bytes == 7168U));
}

BOOST_AUTO_TEST_CASE(the_values_list_every_key_once_in_order) {
  const auto config = load({.environment = {"APIENTIDADES_API_THREADS=3"}});
  BOOST_REQUIRE(config.values.size() == config_keys().size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const auto& doc = config_keys()[i];
    BOOST_TEST(config.values[i].name == doc.name);
    BOOST_TEST(names.insert(doc.name).second);
    BOOST_TEST(!doc.accepts.empty());
    BOOST_TEST(!doc.description.empty());
    const bool given = doc.name == "api.threads";
    BOOST_TEST(config.values[i].value == (given ? "3" : doc.default_value));
    BOOST_TEST(config.values[i].source == (given ? "environment" : "default"));
  }
}

BOOST_AUTO_TEST_CASE(the_command_line_beats_the_environment_and_that_the_file) {
  unit::Sources sources{.file = "[api]\nthreads = 2\n"};
  BOOST_TEST(load(sources).settings.api.threads == 2U);
  BOOST_TEST(value_in_force(load(sources), "api.threads").source.ends_with("/test.conf:2"));
  sources.environment = {"PATH=/bin", "APIENTIDADES_API_THREADS=3", "XAPIENTIDADES_Y=1"};
  BOOST_TEST(load(sources).settings.api.threads == 3U);
  sources.arguments = {"--api.threads=4"};
  BOOST_TEST(load(sources).settings.api.threads == 4U);
  BOOST_TEST(value_in_force(load(sources), "api.threads").source == "command line");
}

BOOST_AUTO_TEST_CASE(every_key_is_read_from_the_environment_under_its_name) {
  for (const auto& key : config_keys()) {
    std::string name = "APIENTIDADES_";
    for (const char c : key.name) name += c == '.' ? '_' : static_cast<char>(std::toupper(c));
    const auto config = load({.environment = {name + "=" + key.default_value}});
    BOOST_TEST(value_in_force(config, key.name).source == "environment", name);
  }
}

BOOST_AUTO_TEST_CASE(a_file_with_comments_blank_lines_and_crlf) {
  const auto config = load({.file = "# of the whole file\n\n"
                                    "  [api]  # of a section\r\n"
                                    "\tthreads=7\t# of a value\r\n"
                                    "#threads = 8\n"
                                    "[delivery]\n"
                                    "lease = 2m\n"
                                    "[api]\n"
                                    "[log]\nlevel = debug"});
  BOOST_TEST(config.settings.api.threads == 7U);
  BOOST_TEST((config.settings.delivery.lease == 2min));
  BOOST_TEST((config.settings.log.level == LogLevel::debug));
}

BOOST_AUTO_TEST_CASE(bad_lines_of_the_file_are_named_by_number) {
  const std::string help = " (apientidades.conf(5) lists the keys)";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\n[api]\nthreads = many\n",
       "test.conf:3: api.threads = \"many\" is not accepted; expected: 1 to 256"},
      {"[api]\nthreads =\n", "test.conf:2: api.threads = \"\" is not accepted; expected: 1 to 256"},
      {"[api]\nthreads = \"4\"\n",
       R"(test.conf:2: api.threads = "\"4\"" is not accepted; expected: 1 to 256)"},
      {"[api]\nthreads = 4 = 5\n",
       "test.conf:2: api.threads = \"4 = 5\" is not accepted; expected: 1 to 256"},
      {"[delivery]\ntimeout = 5\n",
       "test.conf:2: delivery.timeout = \"5\" is not accepted; expected: duration, 100ms to 5m (units: ms, "
       "s, m, h, d)"},
      {"[delivery]\nmax_response = 5 kB\n",
       "test.conf:2: delivery.max_response = \"5 kB\" is not accepted; expected: size, 1KiB to 16MiB (units: "
       "KiB, MiB; none: "
       "bytes)"},
      {"[api]\nthread = 4\n", "test.conf:2: unknown key api.thread; did you mean api.threads?" + help},
      {"[api]\nTHREADS = 4\n", "test.conf:2: unknown key api.THREADS" + help},
      {"[api]\napi.threads = 4\n", "test.conf:2: unknown key api.api.threads" + help},
      {"[api]\n= 4\n", "test.conf:2: unknown key api." + help},
      {"[log]\nlevel = debug\n[nonsense]\n", "test.conf:3: unknown section [nonsense]" + help},
      {"[API]\nthreads = 4\n", "test.conf:1: unknown section [API]" + help},
      {"[ api ]\n", "test.conf:1: unknown section [ api ]" + help},
      {"[]\n", "test.conf:1: unknown section []" + help},
      {"[api.threads]\n", "test.conf:1: unknown section [api.threads]" + help},
      {"threads = 4\n", "test.conf:1: key threads stands before any [section]" + help},
      {"api.threads = 4\n", "test.conf:1: key api.threads stands before any [section]" + help},
      {"[api\nthreads = 4\n", "test.conf:1: \"[api\" is neither [section] nor key = value"},
      {"[api]\nthreads\n", "test.conf:2: \"threads\" is neither [section] nor key = value"},
      {"[api]\n; threads: 4\n", "test.conf:2: \"; threads: 4\" is neither [section] nor key = value"},
      {"\xef\xbb\xbf[api]\n", "test.conf:1: \"\ufeff[api]\" is neither [section] nor key = value"},
      {"[api]\nthreads = 4\n[log]\n[api]\nthreads = 4\n",
       "test.conf:5: key api.threads was given already, at /test.conf:2"},
  };
  for (const auto& [file, expected] : cases) {
    // A message may name the file twice, each time with its temporary folder. config_failure() cuts the
    // folder off the first path; this loop cuts it off the second path.
    auto message = config_failure({.file = file});
    if (const auto at = message.find(", at /"); at != std::string::npos)
      message.erase(at + 5, message.rfind('/') - at - 5);
    BOOST_TEST(message == expected);
  }
}

BOOST_AUTO_TEST_CASE(a_value_is_never_cut_at_a_hash_in_silence) {
  BOOST_TEST(
      config_failure({.file = "[database]\npassword_file = /etc/a#b\n"}) ==
      "test.conf:2: database.password_file: a value cannot contain #; a comment needs a blank before it");
  BOOST_TEST(load({.file = "[database]\npassword_file = /etc/a # b#c\n"}).settings.database.password_file ==
             "/etc/a");
  BOOST_TEST(load({.environment = {"APIENTIDADES_DATABASE_PASSWORD_FILE=/etc/a#b"}})
                 .settings.database.password_file == "/etc/a#b");
}

BOOST_AUTO_TEST_CASE(an_invalid_file_is_an_error_even_where_it_is_overridden) {
  BOOST_TEST(
      config_failure({.file = "[api]\nthread = 2\n", .arguments = {"--api.threads=3"}}) ==
      "test.conf:2: unknown key api.thread; did you mean api.threads? (apientidades.conf(5) lists the keys)");
}

BOOST_AUTO_TEST_CASE(files_beside_the_file_override_it_in_the_order_of_their_names) {
  const unit::TemporaryFolder folder;
  const auto file = folder.write("test.conf", "[api]\nthreads = 2\n[delivery]\ntimeout = 9s\nlease = 1m\n");
  std::filesystem::create_directory(file + ".d");
  folder.write("test.conf.d/20-b.conf", "[api]\nthreads = 4\n");
  folder.write("test.conf.d/10-a.conf", "[api]\nthreads = 3\n[delivery]\ntimeout = 8s\n");
  folder.write("test.conf.d/30-c.conf.bak", "[api]\nthreads = 5\n");
  const auto config = load_config({}, file, {});
  BOOST_TEST(config.settings.api.threads == 4U);
  BOOST_TEST((config.settings.delivery.timeout == 8s && config.settings.delivery.lease == 1min));
  const auto shown = std::ranges::find(config.values, "delivery.timeout", &config::KeyValue::name);
  BOOST_TEST(shown->source == folder.path() + "/test.conf.d/10-a.conf:4");
  folder.write("test.conf.d/40-d.conf", "[api]\nthread = 5\n");
  BOOST_CHECK_THROW(load_config({}, file, {}), ConfigError);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read) {
  const unit::TemporaryFolder folder;
  const auto failure = [](const std::string& path) {
    BOOST_CHECK_THROW(load_config({}, path, {}), ConfigError);
    try {
      load_config({}, path, {});
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto missing = folder.path() + "/missing.conf";
  BOOST_TEST(failure(missing) == "configuration file " + missing + ": No such file or directory");
  BOOST_TEST(failure(folder.path()) == "configuration file " + folder.path() + ": Is a directory");
  BOOST_TEST(failure("/dev/zero") == "configuration file /dev/zero: larger than 1 MiB");
  BOOST_TEST(load_config({}, "/dev/null", {}).settings.api.threads == 16U);
}

BOOST_AUTO_TEST_CASE(bad_variables_are_named) {
  const auto failure = [](const std::string& variable) {
    return config_failure({.environment = {variable}});
  };
  BOOST_TEST(failure("APIENTIDADES_API_THREADS=0") ==
             "environment variable APIENTIDADES_API_THREADS: api.threads = \"0\" is not accepted; expected: "
             "1 to 256");
  BOOST_TEST(failure("APIENTIDADES_API_THREADS=") ==
             "environment variable APIENTIDADES_API_THREADS: api.threads = \"\" is not accepted; expected: 1 "
             "to 256");
  BOOST_TEST(failure("APIENTIDADES_API_THREAD=4") ==
             "environment variable APIENTIDADES_API_THREAD names no key; did you mean "
             "APIENTIDADES_API_THREADS? (apientidades.conf(5) lists the keys)");
  BOOST_TEST(contains(failure("APIENTIDADES_=4"), "variable APIENTIDADES_ names no key"));
  BOOST_TEST(contains(failure("APIENTIDADES_X"), "variable APIENTIDADES_X names no key"));
  BOOST_TEST(contains(failure("APIENTIDADES_api_threads=4"), "names no key"));
}

BOOST_AUTO_TEST_CASE(options_are_one_word_or_two) {
  BOOST_TEST(load({.arguments = {"--api.threads", "3"}}).settings.api.threads == 3U);
  BOOST_TEST(load({.arguments = {"--api.threads=3", "--log.level=error"}}).settings.api.threads == 3U);
}

BOOST_AUTO_TEST_CASE(an_empty_value_empties_what_may_be_empty) {
  const std::string file = "[delivery]\nallowed_networks = 10.0.0.0/8\n";
  BOOST_TEST(load({.file = file}).settings.delivery.allowed_networks.size() == 1U);
  const unit::Sources by_option{.file = file, .arguments = {"--delivery.allowed_networks="}};
  BOOST_TEST(load(by_option).settings.delivery.allowed_networks.empty());
  const unit::Sources by_variable{.file = file, .environment = {"APIENTIDADES_DELIVERY_ALLOWED_NETWORKS="}};
  BOOST_TEST(load(by_variable).settings.delivery.allowed_networks.empty());
  BOOST_TEST(with_argument("--api.threads=") ==
             "command line: api.threads = \"\" is not accepted; expected: 1 to 256");
}

BOOST_AUTO_TEST_CASE(bad_options_are_named) {
  const std::string help = " (apientidades.conf(5) lists the keys)";
  BOOST_TEST(with_argument("--api.threads=257") ==
             "command line: api.threads = \"257\" is not accepted; expected: 1 to 256");
  BOOST_TEST(with_argument("--api.thread=4") ==
             "command line: unknown option \"--api.thread=4\"; did you mean api.threads?" + help);
  BOOST_TEST(contains(with_argument("--API.THREADS=4"), "unknown option \"--API.THREADS=4\""));
  BOOST_TEST(with_argument("--api.threads") ==
             "command line: the required argument for option '--api.threads' is missing" + help);
  const std::string expected = "; expected --section.key=value" + help;
  BOOST_TEST(with_argument("start") == "command line: unexpected argument \"start\"" + expected);
  BOOST_TEST(with_argument("-t4") == "command line: unexpected argument \"-t4\"" + expected);
  BOOST_TEST(with_argument("") == "command line: unexpected argument \"\"" + expected);
  BOOST_TEST(contains(config_failure({.arguments = {"--", "--api.threads=4"}}), "unexpected argument"));
  BOOST_TEST(config_failure({.arguments = {"--api.threads=4", "--api.threads=4"}}) ==
             "command line: --api.threads is given twice");
  BOOST_TEST(contains(config_failure({.arguments = {"--database.name", "--api.threads=4"}}),
                      "command line: database.name = \"--api.threads=4\" is not accepted"));
}

BOOST_AUTO_TEST_CASE(abbreviated_options_are_not_guessed) {
  BOOST_TEST(contains(with_argument("--api.thr=4"), "unknown option"));
  BOOST_TEST(contains(with_argument("--api=4"), "unknown option"));
}

BOOST_AUTO_TEST_CASE(a_message_is_one_line_whatever_was_given) {
  for (const auto& message :
       {config_failure({.file = "[api]\nthreads = 1\x0b\xff\n"}), config_failure({.file = "[\x1b]\n"}),
        config_failure({.environment = {"APIENTIDADES_API_THREADS=1\n2"}}),
        config_failure({.environment = {"APIENTIDADES_\nX=1"}}), with_argument("--a\nb"),
        with_argument("a\nb"), with_argument("--api.threads=1\n2")}) {
    BOOST_TEST(message != "no error");
    BOOST_TEST(contains(message, "\\x"), message);
    BOOST_TEST(std::none_of(message.begin(), message.end(), [](char c) { return c >= 0 && c < ' '; }),
               message);
  }
}

BOOST_AUTO_TEST_CASE(a_verified_server_is_named_as_its_certificate_does) {
  const auto with_tls = [](const std::string& hosts) {
    return "[database]\nhosts = " + hosts + "\ntls_ca = /ca.pem\n";
  };
  for (const auto* hosts :
       {"127.0.0.1", "127.0.0.1:3307", "[::1]", "[::1]:3307", "db.example.org, 127.0.0.1"})
    BOOST_TEST(config_failure({.file = with_tls(hosts)})
                   .starts_with("database.hosts = " + std::string(hosts) + " ("),
               hosts);
  for (const auto* hosts :
       {"localhost", "127.0.0.10", "127.0.0.2:3307", "[::1:1]:3307", "127.0.0.1.example.org"})
    BOOST_CHECK_NO_THROW(load({.file = with_tls(hosts)}));
  BOOST_CHECK_NO_THROW(load({.file = "[database]\nhosts = 127.0.0.1\n"}));
}

BOOST_AUTO_TEST_CASE(another_machine_is_reached_by_tls_alone) {
  for (const auto* hosts :
       {"db1", "10.0.0.5:3307", "[fd00::5]:3306", "localhost, db1", "127.0.0.1.example.org",
        "localhost.example.org", "[::1:1]", "[::ffff:127.0.0.1]"}) {
    const auto message = config_failure({.file = "[database]\nhosts = " + std::string(hosts) + "\n"});
    BOOST_TEST(message.starts_with("database.hosts = " + std::string(hosts) + " ("), message);
    BOOST_TEST(contains(message, "set database.tls_ca"), message);
    BOOST_CHECK_NO_THROW(
        load({.file = "[database]\nhosts = " + std::string(hosts) + "\ntls_ca = /ca.pem\n"}));
  }
  for (const auto* hosts : {"localhost", "localhost:3307", "127.0.0.1", "127.8.9.10:3307", "[::1]:3306"})
    BOOST_CHECK_NO_THROW(load({.file = "[database]\nhosts = " + std::string(hosts) + "\n"}));
}

BOOST_AUTO_TEST_CASE(the_lease_outlasts_the_attempt) {
  BOOST_TEST(config_failure({.file = "[delivery]\nlease = 24s\n"}).starts_with("delivery.lease = 24s ("));
  BOOST_TEST(
      config_failure({.arguments = {"--delivery.timeout=1m"}}) ==
      "delivery.lease = 60s (default) must be at least 10s longer than delivery.timeout = 1m (command line)");
  BOOST_TEST((load({.arguments = {"--delivery.lease=25s"}}).settings.delivery.lease == 25s));
}

BOOST_AUTO_TEST_CASE(connecting_is_part_of_the_attempt) {
  BOOST_TEST(config_failure({.environment = {"APIENTIDADES_DELIVERY_TIMEOUT=4s"}}) ==
             "delivery.connect_timeout = 5s (default) must be at most delivery.timeout = 4s (environment)");
  BOOST_TEST((load({.arguments = {"--delivery.timeout=5s"}}).settings.delivery.timeout == 5s));
}

BOOST_AUTO_TEST_CASE(a_systemd_credential_replaces_the_default_key_file_only) {
  const unit::TemporaryFolder folder;
  const auto key_file = [&folder](const std::vector<std::string>& arguments) {
    return unit::run_in_child([&] {
             ::setenv("CREDENTIALS_DIRECTORY", folder.path().c_str(), 1);
             const auto config = load_config(arguments, "/dev/null", {});
             const auto value = value_in_force(config, "secrets.key_file");
             std::cout << config.settings.secrets.key_file << " " << value.value << " " << value.source;
             return 0;
           })
        .out;
  };
  const std::string usual = "/etc/apientidades/secrets.keys";
  BOOST_TEST(key_file({}) == usual + " " + usual + " default");
  const auto credential = folder.write("secrets.keys", "one:x");
  BOOST_TEST(key_file({}) == credential + " " + credential + " systemd credential");
  BOOST_TEST(key_file({"--secrets.key_file=/a"}) == "/a /a command line");
}

BOOST_AUTO_TEST_CASE(a_file_that_a_key_names) {
  const unit::TemporaryFolder folder;
  BOOST_TEST(read_configured_file("delivery.ca_file", folder.write("ca", "text")) == "text");
  const auto names_key_and_file = [](const ConfigError& error) {
    return error.what() == std::string("delivery.ca_file: /nonexistent: No such file or directory");
  };
  BOOST_CHECK_EXCEPTION(read_configured_file("delivery.ca_file", "/nonexistent"), ConfigError,
                        names_key_and_file);
}

BOOST_AUTO_TEST_CASE(the_documentation_has_every_key_as_it_is) {
  const auto page = read_file(SOURCE_DIR "/docs/configuration.md");
  for (const auto& key : config_keys()) {
    const auto value = key.default_value.empty() ? "empty" : "`" + key.default_value + "`";
    const auto row =
        "| `" + key.name + "` | " + value + " | " + key.accepts + " | " + key.description + " |\n";
    BOOST_TEST(contains(page, row), "docs/configuration.md lacks this row: " << row);
  }
}

BOOST_AUTO_TEST_CASE(the_documentation_has_no_other_key) {
  const auto page = read_file(SOURCE_DIR "/docs/configuration.md");
  std::size_t rows = 0;
  for (auto at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1)) ++rows;
  BOOST_TEST(rows == config_keys().size());
}

BOOST_AUTO_TEST_CASE(the_example_of_the_documentation_loads) {
  const auto page = read_file(SOURCE_DIR "/docs/configuration.md");
  const std::string fence = "```ini\n";
  const auto start = page.find(fence);
  BOOST_REQUIRE(start != std::string::npos);
  const auto example = page.substr(start + fence.size(), page.find("```", start + 3) - start - fence.size());
  BOOST_TEST(config_failure({.file = example}) == "no error");
}

BOOST_AUTO_TEST_SUITE_END()
