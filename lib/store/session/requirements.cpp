#include "lib/store/session/requirements.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>

#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr int oldest_mariadb = 1006;  // 10.6, which has JSON_TABLE and SKIP LOCKED
constexpr int oldest_mysql = 800;     // 8.0
constexpr std::int64_t least_packet = std::int64_t{1} << 20;
constexpr std::int64_t least_page = std::int64_t{16} << 10;
constexpr platform::Milliseconds clock_tolerance{1000};

std::string value_of(const ServerVariables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

bool is_on(const ServerVariables& variables, const std::string& name) {
  const auto value = value_of(variables, name);
  return value == "ON" || value == "1";
}

/// Returns 1011 for "10.11.9-MariaDB"; 0 for text that is not a version.
int version_number(const std::string& version) {
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return 0;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return 0;
  return 100 * major + minor;
}

class Problems {
 public:
  void add(bool found, const std::string& text, bool stops = true) {
    if (found) all_.push_back({text, stops});
  }
  std::vector<ServerProblem> take() { return std::move(all_); }

 private:
  std::vector<ServerProblem> all_;
};

std::string isolation_of(const ServerVariables& variables) {
  const auto old_name = value_of(variables, "tx_isolation");
  return old_name.empty() ? value_of(variables, "transaction_isolation") : old_name;
}

/// How far the server's clock was outside of the interval in which this host read it: negative if the clock
/// was before the interval, positive if after. Zero if it was within the interval, or is unknown.
platform::Milliseconds clock_difference(const ServerVariables& variables, const Asked& asked) {
  const double seconds = std::strtod(value_of(variables, "timestamp").c_str(), nullptr);
  if (seconds <= 0) return {};
  const platform::UtcTime server{platform::Milliseconds(static_cast<std::int64_t>(seconds * 1000))};
  if (server < asked.from) return std::chrono::duration_cast<platform::Milliseconds>(server - asked.from);
  if (server > asked.until) return std::chrono::duration_cast<platform::Milliseconds>(server - asked.until);
  return {};
}

std::string seconds(platform::Milliseconds time) {
  const auto tenths = std::abs(time.count()) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

void check_version(Problems& problems, const ServerVariables& variables) {
  const auto version = value_of(variables, "version");
  const bool mariadb = version.find("MariaDB") != std::string::npos;
  const int number = version_number(version);
  problems.add(
      number < (mariadb ? oldest_mariadb : oldest_mysql),
      "the server is of version " + version +
          ", which lacks statements that the programs use: it must be MariaDB 10.6 or MySQL 8.0, or later");
}

void check_writes(Problems& problems, const ServerVariables& variables) {
  problems.add(is_read_only(variables) || is_on(variables, "super_read_only"),
               "the server is read-only: SET GLOBAL read_only = OFF, or name the primary in database.hosts");
  problems.add(is_on(variables, "innodb_read_only"),
               "InnoDB is read-only: start the server without innodb_read_only and innodb_force_recovery");
  problems.add(
      is_on(variables, "log_bin") && value_of(variables, "binlog_format") == "STATEMENT",
      "binlog_format is STATEMENT, with which the server refuses every write (error 1665): SET GLOBAL "
      "binlog_format = 'ROW', and binlog_format = ROW in its option file");
  const auto page = value_of(variables, "innodb_page_size");
  problems.add(
      text::parse_number<std::int64_t>(page).value_or(least_page) < least_page,
      "innodb_page_size is " + page +
          ", with which the key of a URL is too long (error 1071): the tables need a server whose data "
          "folder was made with innodb_page_size = 16384, the default, or more");
  const auto packet = value_of(variables, "max_allowed_packet");
  problems.add(text::parse_number<std::int64_t>(packet).value_or(least_packet) < least_packet,
               "max_allowed_packet is " + packet +
                   ", less than a statement may have: SET GLOBAL max_allowed_packet = 16777216, and "
                   "max_allowed_packet = 16M in the server's option file");
}

/// Checks the settings that the programs give to each session, because a proxy may change them.
void check_session(Problems& problems, const ServerVariables& variables) {
  const std::string remedy =
      ", although the session has set it: connect to the server itself, not through a proxy that shares "
      "sessions";
  const auto isolation = isolation_of(variables);
  problems.add(isolation != "READ-COMMITTED", "transactions are " + isolation + remedy);
  problems.add(value_of(variables, "sql_mode").find("STRICT_ALL_TABLES") == std::string::npos,
               "sql_mode is not strict" + remedy);
  for (const auto* name : {"character_set_client", "character_set_connection", "character_set_results"}) {
    const auto value = value_of(variables, name);
    problems.add(value != "utf8mb4", std::string(name).append(" is ").append(value).append(remedy));
  }
}

void check_clock(Problems& problems, const ServerVariables& variables, const Asked& asked) {
  const auto difference = clock_difference(variables, asked);
  problems.add(std::chrono::abs(difference) > clock_tolerance,
               "the server's clock is " + seconds(difference) +
                   (difference.count() < 0 ? " behind" : " ahead of") +
                   " this system's: synchronise both (timedatectl status)",
               false);
}

}  // namespace

std::vector<ServerProblem> server_problems(const ServerVariables& variables, const Asked& asked) {
  Problems problems;
  check_version(problems, variables);
  check_writes(problems, variables);
  check_session(problems, variables);
  check_clock(problems, variables, asked);
  return problems.take();
}

std::vector<ServerProblem> look_at_server(Session& session) {
  session.connect();  // connecting must not widen the interval in which the clocks are compared
  const auto from = platform::utc_now();
  const auto rows = session.query(required_variables);
  const auto until = platform::utc_now();
  ServerVariables variables;
  for (const auto& row : rows) variables.emplace(row.text("Variable_name"), row.text("Value"));
  return server_problems(variables, {from, until});
}

std::vector<std::string> require_server(Session& session) {
  std::string stopping;
  std::vector<std::string> warnings;
  for (const auto& [text, stops] : look_at_server(session)) {
    if (!stops)
      warnings.push_back(text);
    else
      stopping += (stopping.empty() ? "" : "; ") + text;
  }
  if (stopping.empty()) return warnings;
  session.disconnect();
  throw Unavailable(0, stopping);
}

void try_write(Session& session) {
  session.update("DELETE FROM pruebas_pendientes WHERE entidad_id = 0 AND entrega_id = 0");
}

}  // namespace store
