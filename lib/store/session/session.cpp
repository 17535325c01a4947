#include "lib/store/session/session.hpp"

#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <cppconn/metadata.h>
#include <cppconn/prepared_statement.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#include <mysql_driver.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "lib/platform/file.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/store/session/authentication.hpp"
#include "lib/store/session/hosts.hpp"
#include "lib/store/session/session_settings.hpp"

namespace store {

namespace {

constexpr int connect_timeout_s = 3;       // the connector's default is no time-out
constexpr int cannot_connect_code = 2002;  // of the client library (CR_CONNECTION_ERROR)
constexpr std::chrono::seconds role_trusted_for(1);

sql::Driver& driver() {
  // The first call initialises the client library and is not thread-safe; a local static makes it
  // thread-safe.
  static sql::Driver& instance = *sql::mysql::get_driver_instance();
  return instance;
}

[[noreturn]] void throw_naming_the_key(const platform::FileError& error) {
  throw platform::FileError(std::string("database.password_file: ") + error.what());
}

std::string password_of(const config::DatabaseSettings& settings) try {
  return settings.password_file.empty() ? std::string() : platform::read_secret_file(settings.password_file);
} catch (const platform::FileError& error) {
  throw_naming_the_key(error);
}

/// The file of a program's password in an installation: systemd's credential, or the file in
/// /etc/apientidades if this process can read it. Empty if there is neither.
std::string default_password_file(const std::string& program_user) {
  if (const auto path = platform::credential_path("database-password")) return *path;
  const std::string path = installed_password_file(program_user);
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

/// Read for every result, because DDL may have changed the columns since the statement was prepared.
std::vector<std::string> read_columns(sql::ResultSet& result) {
  auto& meta = *result.getMetaData();
  std::vector<std::string> columns(meta.getColumnCount());
  for (unsigned i = 0; i < columns.size(); ++i) columns[i] = meta.getColumnLabel(i + 1).asStdString();
  return columns;
}

/// The columns that are fetched as numbers, because the connector's text of a number costs a printf. Excludes
/// BIGINT UNSIGNED, which does not fit in an int64.
std::vector<bool> read_which_are_integers(sql::ResultSet& result) {
  auto& meta = *result.getMetaData();
  std::vector<bool> integers(meta.getColumnCount());
  for (unsigned i = 0; i < integers.size(); ++i) {
    switch (meta.getColumnType(i + 1)) {
      case sql::DataType::TINYINT:
      case sql::DataType::SMALLINT:
      case sql::DataType::MEDIUMINT:
      case sql::DataType::INTEGER:
        integers[i] = true;
        break;
      case sql::DataType::BIGINT:
        integers[i] = meta.isSigned(i + 1);
        break;
      default:
        break;
    }
  }
  return integers;
}

void append_cell(Result& to, sql::ResultSet& from, unsigned column, bool is_integer) {
  if (from.isNull(column)) return to.append(std::nullopt);
  if (is_integer) return to.append(std::int64_t{from.getInt64(column)});
  const sql::SQLString text = from.getString(column);
  to.append(std::string_view(text.c_str(), text.length()));
}

Rows read_rows(sql::ResultSet& from) {
  const auto result = std::make_shared<Result>(read_columns(from));
  const auto integers = read_which_are_integers(from);
  result->reserve(from.rowsCount());
  Rows rows;
  rows.reserve(from.rowsCount());
  while (from.next()) {
    rows.emplace_back(result, rows.size());
    for (unsigned i = 0; i < integers.size(); ++i) append_cell(*result, from, i + 1, integers[i]);
  }
  return rows;
}

std::string text_of(const sql::SQLException& error) {
  return error.getErrorCode() == refused_authentication_code
             ? "the server asks for the password in a way that is not accepted"
             : error.what();
}

}  // namespace

struct Session::Impl {
  Impl(config::DatabaseSettings settings_, SessionOptions options_)
      : settings(std::move(settings_)), options(std::move(options_)), hosts(settings) {}

  config::DatabaseSettings settings;
  SessionOptions options;
  std::function<void()> before_statement;
  Hosts hosts;
  platform::MonotonicTime last_used{};
  platform::MonotonicTime seen_writable{};
  // Declared before `statements`, which must be destroyed first (members are destroyed in reverse order).
  std::unique_ptr<sql::Connection> connection;
  std::map<std::string, std::unique_ptr<sql::PreparedStatement>, std::less<>> statements;

  void connect();
  void connect_to(const std::string& address);
  int read_timeout_s() const;
  void report_progress();
  void execute(std::string_view sql);
  void require_tls();
  bool checks_role() const;
  void require_member();
  void require_still_writable();
  sql::PreparedStatement& prepare(std::string_view sql);
  void disconnect() noexcept;
  void lose() noexcept;

  /// Runs one call of the connector, translates its errors, and drops a lost connection.
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

  /// Whether a lock time-out concerns a whole table, so that no other statement on the table would succeed.
  /// The server reports the same error for a locked row. How long the statement has waited tells which it is:
  /// lock_wait_s for a row, table_lock_wait_s for a table. False if lock_wait_s is not the smaller one.
  bool is_table_lock(int code) const {
    const auto waited = platform::monotonic_now() - last_used;
    return code == lock_timeout_code && options.lock_wait_s < table_lock_wait_s &&
           waited >= std::chrono::seconds(table_lock_wait_s);
  }

  template <class F>
  auto translated(F&& call) -> decltype(call()) {
    last_used = platform::monotonic_now();
    report_progress();
    try {
      connect();
      return call();
    } catch (const sql::SQLException& error) {
      if (connection && is_unavailable(error.getErrorCode(), error.what())) lose();
      if (is_table_lock(error.getErrorCode())) {
        lose();
        throw Unavailable(
            error.getErrorCode(),
            described_error(error.getErrorCode(), "a table is locked, for example by a backup"));
      }
      if (error.getErrorCode() == no_number_code && connection && is_mariadb())
        throw Interrupted(no_number_code, described_error(no_number_code, error.what()));
      throw_database_error(error.getErrorCode(), error.getSQLState(), error.what());
    }
  }

  bool is_mariadb() const {
    return connection->getMetaData()->getDatabaseProductVersion().asStdString().find("MariaDB") !=
           std::string::npos;
  }
};

void Session::Impl::disconnect() noexcept {
  statements.clear();
  connection.reset();
}

/// Disconnects from an unusable server; the next connect begins with the next server.
void Session::Impl::lose() noexcept {
  disconnect();
  hosts.pass_on();
}

/// With several servers a time-out is at most failover_s, so that the session soon moves on from a silent
/// server; 0 (no time-out) stays 0.
int Session::Impl::read_timeout_s() const {
  return hosts.several() ? std::min(options.read_timeout_s, options.failover_s)
                         : options.read_timeout_s;  // 0: none
}

void Session::Impl::report_progress() {
  if (before_statement) before_statement();
}

void Session::Impl::execute(std::string_view sql) {
  report_progress();
  const std::unique_ptr<sql::Statement> statement(connection->createStatement());
  statement->execute(std::string(sql));
}

void Session::Impl::require_tls() {
  report_progress();
  const std::unique_ptr<sql::Statement> statement(connection->createStatement());
  const std::unique_ptr<sql::ResultSet> result(
      statement->executeQuery("SHOW SESSION STATUS LIKE 'Ssl_cipher'"));
  if (!result->next() || result->getString(2).length() == 0) {
    throw_database_error(tls_code, "08001", "the server gave a connection without TLS");
  }
}

/// One address may lead to another server after each switch of the primary: HAProxy, a virtual address, a
/// name with several. A session that only reads may use a replica that the configuration names alone.
bool Session::Impl::checks_role() const {
  return hosts.several() || (!settings.hosts.empty() && !options.read_only);
}

/// Throws Unavailable unless the server accepts writes, is in its cluster's majority and has caught up.
void Session::Impl::require_member() {
  report_progress();
  try {
    const std::unique_ptr<sql::Statement> statement(connection->createStatement());
    const std::unique_ptr<sql::ResultSet> result(statement->executeQuery(node_variables));
    ServerVariables variables;
    while (result->next()) variables.emplace(result->getString(1), result->getString(2));
    if (is_read_only(variables)) throw Unavailable(1290, "the server is read-only");
    seen_writable = platform::monotonic_now();
    const std::string causal = causal_reads(variables);
    if (causal.empty()) return;
    execute(causal);
    // START TRANSACTION waits until the node has caught up. On Group Replication a SELECT 1 would not wait.
    execute("START TRANSACTION");
    execute("COMMIT");
  } catch (const sql::SQLException& error) {
    throw Unavailable(error.getErrorCode(),
                      std::string("not a working node of its cluster: ") + error.what());
  }
}

/// A former primary refuses writes, but still answers reads, with rows that may be old: a session that only
/// reads would stay with that server. So a query outside of transactions checks whether the server is
/// writable, unless a check has said so within role_trusted_for.
void Session::Impl::require_still_writable() {
  if (!checks_role() || platform::monotonic_now() - seen_writable < role_trusted_for) return;
  const std::string address = hosts.current();
  try {
    const std::unique_ptr<sql::Statement> statement(connection->createStatement());
    const std::unique_ptr<sql::ResultSet> result(statement->executeQuery("SELECT @@GLOBAL.read_only"));
    if (result->next() && !is_read_only({{"read_only", result->getString(1)}})) {
      seen_writable = platform::monotonic_now();
      return;
    }
  } catch (const sql::SQLException& error) {  // error 1205 from a node of Galera that is cut off
    lose();
    throw Unavailable(error.getErrorCode(),
                      "the server (" + address + ") does not tell whether it takes writes: " + error.what());
  }
  lose();
  throw Unavailable(1290, "the server has become read-only (" + address + ")");
}

void Session::Impl::connect_to(const std::string& address) {
  report_progress();
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
  const OptionFile options_of_library(
      "[client]\nrestricted-auth = " + accepted_authentication(tls || settings.hosts.empty()) + "\n");
  map["readDefaultFile"] = sql::SQLString(options_of_library.path());
  map["OPT_LOCAL_INFILE"] = 0;  // no server may read files of this host
  if (tls) {
    map["sslCA"] = sql::SQLString(settings.tls_ca);
    map["sslEnforce"] = true;
    map["sslVerify"] = true;
  }
  // preInit runs before the connector's own statements. Limits of the server could refuse those statements;
  // session_settings() lifts the limits.
  map["preInit"] = sql::SQLString(session_settings(options.lock_wait_s));
  connection.reset(driver().connect(map));
  // The connector sets REPEATABLE READ at every connect. The gap locks of that level would block the
  // evaluation system's inserts.
  execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  if (options.read_only) execute("SET SESSION TRANSACTION READ ONLY");
  if (tls) require_tls();
  if (checks_role()) require_member();
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
      const auto text = text_of(error) + " (" + address + ")";
      // A failed connect is Unavailable whatever its code, because the statement is not at fault.
      if (left == 1) throw Unavailable(error.getErrorCode(), described_error(error.getErrorCode(), text));
      if (options.on_skipped) options.on_skipped(text);
    } catch (const Unavailable& error) {
      lose();
      const auto text = std::string(error.what()) + " (" + address + ")";
      if (left == 1) throw Unavailable(error.code, text);
      if (options.on_skipped) options.on_skipped(text);
    } catch (const std::runtime_error& error) {
      // The password's file cannot be read, or no descriptor is left.
      lose();
      const auto text = std::string(error.what()) + " (" + address + ")";
      if (left == 1) throw Unavailable(cannot_connect_code, text);
      if (options.on_skipped) options.on_skipped(text);
    } catch (...) {  // no memory
      lose();
      throw;
    }
  }
}

sql::PreparedStatement& Session::Impl::prepare(std::string_view sql) {
  const auto known = statements.find(sql);
  if (known != statements.end()) return *known->second;
  std::unique_ptr<sql::PreparedStatement> statement(connection->prepareStatement(std::string(sql)));
  report_progress();
  return *statements.emplace(std::string(sql), std::move(statement)).first->second;
}

std::string password_file(const config::DatabaseSettings& settings, const std::string& program_user) {
  return settings.password_file.empty() ? default_password_file(program_user) : settings.password_file;
}

std::string installed_password_file(const std::string& program_user) {
  return "/etc/apientidades/" + program_user.substr(program_user.find('_') + 1) + ".password";
}

void require_password(const std::string& file) try {
  platform::read_secret_file(file);
  platform::require_private(file);
} catch (const platform::FileError& error) {
  throw_naming_the_key(error);
}

Session::Session(config::DatabaseSettings settings, SessionOptions options) {
  settings.password_file = password_file(settings, options.program_user);
  // Read at every connect. Read here, too, to report a missing file at once.
  if (options.needs_password && !settings.password_file.empty()) require_password(settings.password_file);
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
    if (!in_transaction_) impl_->require_still_writable();
    auto& statement = impl_->prepare(sql);
    for (unsigned i = 0; i < parameters.size(); ++i) set_parameter(statement, i + 1, parameters[i]);
    const std::unique_ptr<sql::ResultSet> result(statement.executeQuery());
    return read_rows(*result);
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

std::int64_t Session::last_insert_id() { return query("SELECT LAST_INSERT_ID() AS id").at(0).integer("id"); }

bool Session::is_mariadb() {
  return impl_->guarded([&] { return impl_->is_mariadb(); });
}

void Session::before_statements(std::function<void()> progress) {
  impl_->before_statement = std::move(progress);
}

bool Session::connected() const noexcept { return impl_->connection != nullptr; }
platform::MonotonicTime Session::last_used() const noexcept { return impl_->last_used; }
void Session::disconnect() noexcept { impl_->disconnect(); }

namespace detail {

void rollback(Session& session) noexcept {
  if (!session.connected()) return;  // the transaction ended with the connection
  try {
    session.execute("ROLLBACK");
  } catch (...) {
    session.disconnect();  // an open transaction must not become part of the next one
  }
}

void commit_or_roll_back(Session& session) {
  try {
    session.execute("COMMIT");
  } catch (...) {
    rollback(session);
    throw;
  }
}

void back_off(unsigned attempt) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::milliseconds(random() % (5U << attempt) + 1));
}

}  // namespace detail

}  // namespace store
