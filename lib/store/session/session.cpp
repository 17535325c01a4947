#include "store/session/session.hpp"

#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <cppconn/prepared_statement.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <mysql_driver.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>

#include "platform/file.hpp"
#include "platform/service_manager.hpp"
#include "store/session/hosts.hpp"

namespace store {

namespace {

constexpr int connect_timeout_s = 3;  // the connector's own default is none
/// A host that goes in the middle of a transaction, without a word, leaves its rows locked until the server
/// notices: by TCP's keepalive after two hours. Less than lock_wait_s, so that who waits for them gets them.
/// MySQL has no such variable and does not read /*M! … */.
constexpr const char* idle_transaction_limit = "/*M! idle_transaction_timeout = 4, */ ";

/// The connection is of no further use: lost, killed, out of step, or to a server that cannot write.
/// 1047: a node that has left its cluster's majority; 1180: it left during a COMMIT; 3032, 3100, 3796, 3797,
/// 3798, 3799: the same of Group Replication.
constexpr std::array unavailable_codes = {1040, 1047, 1053, 1129, 1180, 1203, 1226, 1290, 1836,
                                          1927, 2002, 2003, 2005, 2006, 2013, 2014, 2026, 2055,
                                          3032, 3100, 3796, 3797, 3798, 3799, 4031};
/// The queue's conflicts, and certification failures of clusters (1213 at any statement, COMMIT included;
/// 3101): the whole transaction may be run again.
constexpr std::array conflict_codes = {1020, 1213, 3101};
/// 1180 again: Group Replication's node let a transaction of another node go first, and did not leave.
constexpr int commit_code = 1180;
constexpr std::string_view overruled_at_commit = "Got error 149 ";  // HA_ERR_LOCK_DEADLOCK
constexpr int lock_timeout_code = 1205;
constexpr int duplicate_key_code = 1062;
constexpr int tls_code = 2026;

/// What the operator can do about an error that is not the program's fault.
std::string_view remedy(int code) {
  switch (code) {
    case 1044:
    case 1142:
    case 1143:
      return " (the rights that each program needs are in sql/grants)";
    case 1045:
    case 1698:
      return " (check database.user and database.password_file: apientidades-admin config show)";
    case 1049:
      return " (create the database, or check database.name: apientidades-admin config show)";
    case 1054:
    case 1146:
      return " (bring the tables up to date: apientidades-admin db migrate)";
    case tls_code:
      return " (check database.tls_ca, and that database.hosts names the server as its certificate does)";
    default:
      return "";
  }
}

bool contains(const auto& codes, int code) { return std::ranges::find(codes, code) != codes.end(); }

bool is_conflict(int code, std::string_view message) {
  return contains(conflict_codes, code) ||
         (code == commit_code && message.find(overruled_at_commit) != std::string_view::npos);
}

bool is_unavailable(int code, std::string_view message) {
  return contains(unavailable_codes, code) && !is_conflict(code, message);
}

[[noreturn]] void throw_translated(int code, const std::string& message) {
  const std::string text =
      "database error " + std::to_string(code) + ": " + message + std::string(remedy(code));
  if (is_unavailable(code, message)) throw Unavailable(code, text);
  if (code == lock_timeout_code) throw LockTimeout(code, text);
  if (is_conflict(code, message)) throw Conflict(code, text);
  if (code == duplicate_key_code) throw DuplicateKey(code, text);
  throw DatabaseError(code, text);
}

sql::Driver& driver() {
  // The first call initialises the client library, which is not thread-safe; a local static is.
  static sql::Driver& instance = *sql::mysql::get_driver_instance();
  return instance;
}

std::string password_of(const platform::DatabaseSettings& settings) {
  return settings.password_file.empty() ? std::string() : platform::read_secret_file(settings.password_file);
}

/// Where an installation keeps a program's password: systemd's credential, or a file that its user can read.
/// Empty: nowhere.
std::string default_password_file(const std::string& program_user) {
  if (const auto path = platform::credential_path("database-password")) return *path;
  const std::string path =
      "/etc/apientidades/" + program_user.substr(program_user.find('_') + 1) + ".password";
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

void set_parameter(sql::PreparedStatement& statement, unsigned index, const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::null:
      return statement.setNull(index, sql::DataType::VARCHAR);
    case Parameter::Kind::integer:
      return statement.setInt64(index, static_cast<std::int64_t>(parameter.number));
    case Parameter::Kind::unsigned_integer:
      return statement.setUInt64(index, parameter.number);
    case Parameter::Kind::text:
      return statement.setString(index, parameter.text);
  }
}

Row read_row(sql::ResultSet& result, unsigned columns) {
  std::vector<std::optional<std::string>> cells(columns);
  for (unsigned i = 0; i < columns; ++i) {
    const sql::SQLString text = result.getString(i + 1);
    if (!result.wasNull()) cells[i].emplace(text.c_str(), text.length());
  }
  return Row(std::move(cells));
}

template <class T>
T parse_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error("a column is not the integer its reader expects: " + text);
  }
  return value;
}

}  // namespace

Parameter::Parameter(UtcTime v) : kind(Kind::text) {
  const auto day = std::chrono::floor<std::chrono::days>(v);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss<platform::Milliseconds> time{v - day};
  std::array<char, 64> buffer{};
  const int length = std::snprintf(
      buffer.data(), buffer.size(), "%04d-%02u-%02u %02d:%02d:%02d.%03d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  text.assign(buffer.data(), static_cast<std::size_t>(length));
}

const std::string& Row::text(std::size_t column) const {
  const auto& cell = cells_.at(column);
  if (!cell)
    throw std::runtime_error("column " + std::to_string(column) +
                             " is NULL where its reader expects a value");
  return *cell;
}
std::int64_t Row::integer(std::size_t column) const { return parse_number<std::int64_t>(text(column)); }
std::uint64_t Row::unsigned_integer(std::size_t column) const {
  return parse_number<std::uint64_t>(text(column));
}
UtcTime Row::time(std::size_t column) const { return UtcTime(platform::Milliseconds(integer(column))); }
std::optional<std::string> Row::optional_text(std::size_t column) const { return cells_.at(column); }
std::optional<std::int64_t> Row::optional_integer(std::size_t column) const {
  return null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<UtcTime> Row::optional_time(std::size_t column) const {
  return null(column) ? std::nullopt : std::optional(time(column));
}

struct Session::Impl {
  Impl(platform::DatabaseSettings settings_, SessionOptions options_)
      : settings(std::move(settings_)), options(std::move(options_)), hosts(settings) {}

  platform::DatabaseSettings settings;
  SessionOptions options;
  Hosts hosts;
  // The statements belong to the connection: destroyed before it (members are destroyed in reverse order).
  std::unique_ptr<sql::Connection> connection;
  std::map<std::string, std::unique_ptr<sql::PreparedStatement>, std::less<>> statements;

  void connect();
  void connect_to(const std::string& address);
  int read_timeout_s() const;
  void execute(std::string_view sql);
  void require_tls();
  void require_member();
  sql::PreparedStatement& prepare(std::string_view sql);
  void disconnect() noexcept;
  void lose() noexcept;

  /// Runs one call of the connector with its errors translated; a lost connection is dropped.
  template <class F>
  auto guarded(F&& call) -> decltype(call()) {
    try {
      return translated(std::forward<F>(call));
    } catch (const DuplicateKey&) {
      throw;
    } catch (const DatabaseError& error) {
      if (options.on_error) options.on_error(error);
      throw;
    }
  }

  template <class F>
  auto translated(F&& call) -> decltype(call()) {
    try {
      connect();
      return call();
    } catch (const sql::SQLException& error) {
      if (connection && is_unavailable(error.getErrorCode(), error.what())) lose();
      throw_translated(error.getErrorCode(), error.what());
    }
  }
};

void Session::Impl::disconnect() noexcept {
  statements.clear();
  connection.reset();
}

/// The server is away: another one is tried first.
void Session::Impl::lose() noexcept {
  disconnect();
  hosts.pass_on();
}

/// With a server to turn to, one that is silent is not waited for as long as if it were the only one.
int Session::Impl::read_timeout_s() const {
  return hosts.several() ? std::min(options.read_timeout_s, options.failover_s)
                         : options.read_timeout_s;  // 0: none
}

void Session::Impl::execute(std::string_view sql) {
  const std::unique_ptr<sql::Statement> statement(connection->createStatement());
  statement->execute(std::string(sql));
}

void Session::Impl::require_tls() {
  const std::unique_ptr<sql::Statement> statement(connection->createStatement());
  const std::unique_ptr<sql::ResultSet> result(
      statement->executeQuery("SHOW SESSION STATUS LIKE 'Ssl_cipher'"));
  if (!result->next() || result->getString(2).length() == 0) {
    throw_translated(tls_code, "the server gave a connection without TLS");
  }
}

/// Of several: one that takes writes, is part of its cluster's majority and has caught up with it.
void Session::Impl::require_member() {
  try {
    const std::unique_ptr<sql::Statement> statement(connection->createStatement());
    const std::unique_ptr<sql::ResultSet> result(statement->executeQuery(node_variables));
    ServerVariables variables;
    while (result->next()) variables.emplace(result->getString(1), result->getString(2));
    if (is_read_only(variables)) throw Unavailable(1290, "the server is read-only");
    const std::string causal = causal_reads(variables);
    if (causal.empty()) return;
    execute(causal);
    execute("START TRANSACTION");  // waits until it has caught up; Group Replication lets a SELECT 1 pass
    execute("COMMIT");
  } catch (const sql::SQLException& error) {
    throw Unavailable(error.getErrorCode(),
                      std::string("not a working node of its cluster: ") + error.what());
  }
}

void Session::Impl::connect_to(const std::string& address) {
  sql::ConnectOptionsMap map;
  map["hostName"] = sql::SQLString(address);
  map["userName"] = sql::SQLString(settings.user.empty() ? options.program_user : settings.user);
  map["password"] = sql::SQLString(password_of(settings));
  map["schema"] = sql::SQLString(settings.name);
  map["OPT_CONNECT_TIMEOUT"] = connect_timeout_s;
  map["OPT_CHARSET_NAME"] = sql::SQLString("utf8mb4");
  if (const int timeout_s = read_timeout_s(); timeout_s > 0) {
    map["OPT_READ_TIMEOUT"] = timeout_s;
    map["OPT_WRITE_TIMEOUT"] = timeout_s;
  }
  const bool tls = !settings.tls_ca.empty();
  if (tls) {
    map["sslCA"] = sql::SQLString(settings.tls_ca);
    map["sslEnforce"] = true;
    map["sslVerify"] = true;
  }
  connection.reset(driver().connect(map));
  // The connector asks for REPEATABLE READ on every connect, whose gap locks would block the evaluation
  // system's inserts.
  execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  execute(std::string("SET SESSION ") + idle_transaction_limit +
          "time_zone = '+00:00', sql_mode = "
          "'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
          "NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = " +
          std::to_string(options.lock_wait_s));
  if (tls) require_tls();
  if (hosts.several()) require_member();
}

void Session::Impl::connect() {
  if (connection) return;
  for (std::size_t left = hosts.size(); left > 0; --left) {
    const std::string address = hosts.current();
    try {
      connect_to(address);
      return;
    } catch (const sql::SQLException& error) {
      lose();
      const auto text = std::string(error.what()) + " (" + address + ")";
      if (left == 1) throw_translated(error.getErrorCode(), text);
      if (options.on_skipped) options.on_skipped(text);
    } catch (const Unavailable& error) {
      lose();
      const auto text = std::string(error.what()) + " (" + address + ")";
      if (left == 1) throw Unavailable(error.code, text);
      if (options.on_skipped) options.on_skipped(text);
    } catch (const std::exception& error) {
      lose();
      if (left == 1) throw;
      if (options.on_skipped) options.on_skipped(std::string(error.what()) + " (" + address + ")");
    }
  }
}

sql::PreparedStatement& Session::Impl::prepare(std::string_view sql) {
  const auto known = statements.find(sql);
  if (known != statements.end()) return *known->second;
  std::unique_ptr<sql::PreparedStatement> statement(connection->prepareStatement(std::string(sql)));
  return *statements.emplace(std::string(sql), std::move(statement)).first->second;
}

Session::Session(platform::DatabaseSettings settings, SessionOptions options) {
  if (settings.password_file.empty()) settings.password_file = default_password_file(options.program_user);
  password_of(settings);  // read anew at every connect, but a file that is missing is told at once
  impl_ = std::make_unique<Impl>(std::move(settings), std::move(options));
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::connect() {
  impl_->guarded([] {});
}

Rows Session::run_query(std::string_view sql, const std::vector<Parameter>& parameters) {
  return impl_->guarded([&] {
    auto& statement = impl_->prepare(sql);
    for (unsigned i = 0; i < parameters.size(); ++i) set_parameter(statement, i + 1, parameters[i]);
    const std::unique_ptr<sql::ResultSet> result(statement.executeQuery());
    const unsigned columns = result->getMetaData()->getColumnCount();
    Rows rows;
    rows.reserve(result->rowsCount());
    while (result->next()) rows.push_back(read_row(*result, columns));
    return rows;
  });
}

std::uint64_t Session::run_update(std::string_view sql, const std::vector<Parameter>& parameters) {
  return impl_->guarded([&] {
    auto& statement = impl_->prepare(sql);
    for (unsigned i = 0; i < parameters.size(); ++i) set_parameter(statement, i + 1, parameters[i]);
    return static_cast<std::uint64_t>(statement.executeUpdate());
  });
}

void Session::execute(std::string_view sql) {
  impl_->guarded([&] { impl_->execute(sql); });
}

std::int64_t Session::last_insert_id() { return query("SELECT LAST_INSERT_ID()").at(0).integer(0); }

bool Session::connected() const noexcept { return impl_->connection != nullptr; }
void Session::disconnect() noexcept { impl_->disconnect(); }

namespace detail {

void rollback(Session& session) noexcept {
  if (!session.connected()) return;  // lost, and the transaction with it
  try {
    session.execute("ROLLBACK");
  } catch (...) {
    session.disconnect();  // whatever is open on it must not leak into the next transaction
  }
}

void back_off(unsigned attempt) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::milliseconds(random() % (5U << attempt) + 1));
}

}  // namespace detail

}  // namespace store
