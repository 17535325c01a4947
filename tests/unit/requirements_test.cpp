#include "lib/store/session/requirements.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(requirements)

namespace {

using namespace std::chrono_literals;

const platform::UtcTime now{platform::Milliseconds(1'764'000'000'500)};

store::ServerVariables good() {
  return {{"version", "10.11.9-MariaDB-log"},   {"timestamp", "1764000000.512345"},
          {"tx_isolation", "READ-COMMITTED"},   {"log_bin", "ON"},
          {"binlog_format", "MIXED"},           {"read_only", "OFF"},
          {"innodb_read_only", "OFF"},          {"sql_mode", "STRICT_ALL_TABLES,NO_ZERO_DATE"},
          {"character_set_client", "utf8mb4"},  {"character_set_connection", "utf8mb4"},
          {"character_set_results", "utf8mb4"}, {"max_allowed_packet", "16777216"},
          {"innodb_page_size", "16384"}};
}

std::vector<store::ServerProblem> problems_with(const std::string& name, const std::string& value) {
  auto variables = good();
  variables[name] = value;
  return store::server_problems(variables, {now, now + 20ms});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_that_has_all_has_no_problem) {
  BOOST_TEST(store::server_problems(good(), {now, now + 20ms}).empty());
  auto mysql = good();
  mysql["version"] = "9.7.0";
  mysql["transaction_isolation"] = mysql["tx_isolation"];
  mysql.erase("tx_isolation");
  mysql["super_read_only"] = "OFF";
  BOOST_TEST(store::server_problems(mysql, {now, now + 20ms}).empty());
}

BOOST_AUTO_TEST_CASE(each_requirement_is_one_line_that_names_it_and_the_remedy) {
  const std::vector<std::array<const char*, 4>> table = {
      {"version", "10.5.29-MariaDB", "version 10.5.29", "MariaDB 10.6"},
      {"version", "5.7.44", "version 5.7.44", "MySQL 8.0"},
      {"version", "", "version ", "MySQL 8.0"},
      {"tx_isolation", "REPEATABLE-READ", "REPEATABLE-READ", "proxy"},
      {"binlog_format", "STATEMENT", "binlog_format is STATEMENT", "SET GLOBAL binlog_format = 'ROW'"},
      {"read_only", "ON", "read-only", "SET GLOBAL read_only = OFF"},
      {"read_only", "NO_LOCK_NO_ADMIN", "read-only", "SET GLOBAL read_only = OFF"},
      {"super_read_only", "ON", "read-only", "SET GLOBAL read_only = OFF"},
      {"innodb_read_only", "ON", "InnoDB is read-only", "innodb_force_recovery"},
      {"sql_mode", "ANSI_QUOTES", "sql_mode", "proxy"},
      {"character_set_client", "latin1", "character_set_client is latin1", "proxy"},
      {"character_set_results", "utf8mb3", "character_set_results is utf8mb3", "proxy"},
      {"max_allowed_packet", "1024", "max_allowed_packet is 1024", "SET GLOBAL max_allowed_packet"},
      {"innodb_page_size", "4096", "innodb_page_size is 4096", "innodb_page_size = 16384"},
      {"innodb_page_size", "8192", "innodb_page_size is 8192", "innodb_page_size = 16384"}};
  for (const auto& [name, value, what, remedy] : table) {
    BOOST_TEST_CONTEXT(name << " = " << value) {
      const auto problems = problems_with(name, value);
      BOOST_REQUIRE(problems.size() == 1U);
      BOOST_TEST(problems[0].stops);
      BOOST_TEST(problems[0].text.find(what) != std::string::npos, problems[0].text);
      BOOST_TEST(problems[0].text.find(remedy) != std::string::npos, problems[0].text);
      BOOST_TEST(problems[0].text.find('\n') == std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_format_of_a_binary_log_that_is_not_written_does_not_matter) {
  auto variables = good();
  variables["log_bin"] = "OFF";
  variables["binlog_format"] = "STATEMENT";
  BOOST_TEST(store::server_problems(variables, {now, now}).empty());
}

BOOST_AUTO_TEST_CASE(a_clock_apart_is_told_and_stops_nothing) {
  BOOST_TEST(problems_with("timestamp", "1763999999.600000").empty());
  BOOST_TEST(problems_with("timestamp", "1764000001.400000").empty());
  const auto behind = problems_with("timestamp", "1763999990.500000");
  BOOST_REQUIRE(behind.size() == 1U);
  BOOST_TEST(!behind[0].stops);
  BOOST_TEST(behind[0].text.starts_with("the server's clock is 10.0 s behind this system's"), behind[0].text);
  const auto ahead = problems_with("timestamp", "1764000004.520000");
  BOOST_REQUIRE(ahead.size() == 1U);
  BOOST_TEST(ahead[0].text.starts_with("the server's clock is 4.0 s ahead of this system's"), ahead[0].text);
  // A slow answer does not mean that the clocks differ.
  auto variables = good();
  BOOST_TEST(store::server_problems(variables, {now - 5s, now + 5s}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
