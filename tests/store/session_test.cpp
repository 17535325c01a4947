// Sessions: lost connections, transactions, errors, time limits, passwords, TLS and values.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "lib/store/session/repeat_if_lost.hpp"
#include "lib/store/session/requirements.hpp"
#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;

namespace {

std::int64_t connection_id(Session& session) {
  return session.query("SELECT CONNECTION_ID() AS id").at(0).integer("id");
}

void kill_connection(Database& database, Session& victim) {
  const auto id = connection_id(victim);
  database.session.execute("KILL " + std::to_string(id));
}

/// A new user with a password, allowed from 127.0.0.1 only.
struct NetworkUser {
  NetworkUser(Database& database_, bool tls) : database(database_) {
    const std::string name = database.name + (tls ? "_tls" : "_clear");
    std::ofstream(password_file) << "s3creto";
    database.session.execute("CREATE USER " + account(name) + " IDENTIFIED BY 's3creto'" +
                             (tls ? " REQUIRE SSL" : ""));
    database.session.execute("GRANT ALL ON " + database.name + ".* TO " + account(name));
    settings.user = name;
    settings.name = database.name;
    settings.password_file = password_file;
    settings.hosts = {"localhost:" + environment("TEST_DB_PORT")};
    if (tls) settings.tls_ca = environment("TEST_DB_CA");
  }
  ~NetworkUser() {
    database.session.execute("DROP USER " + account(settings.user));
    std::filesystem::remove(password_file);
  }
  NetworkUser(const NetworkUser&) = delete;
  NetworkUser& operator=(const NetworkUser&) = delete;

  static std::string account(const std::string& name) { return "'" + name + "'@'127.0.0.1'"; }

  Database& database;
  std::string password_file = std::filesystem::temp_directory_path() / (database.name + ".password");
  config::DatabaseSettings settings;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(session)

BOOST_AUTO_TEST_CASE(commit_on_a_killed_connection_throws_and_stores_nothing) {
  Database database;
  Session other = database.connect();
  BOOST_CHECK_THROW(transaction(other,
                                [&] {
                                  add_webhook(database.session,
                                              1);  // on another session than the transaction
                                  other.update("INSERT INTO entidades (id, nombre) VALUES (2, 'dos')");
                                  const auto id = connection_id(other);
                                  database.session.execute("KILL " + std::to_string(id));
                                }),
                    Unavailable);
  BOOST_CHECK(database.session.query("SELECT 1 FROM entidades WHERE id = 2").empty());
}

BOOST_AUTO_TEST_CASE(a_lost_connection_is_replaced_at_the_next_use_with_its_settings) {
  Database database;
  Session other = database.connect();
  kill_connection(database, other);
  BOOST_CHECK_THROW(other.query("SELECT 1"), Unavailable);
  const auto rows = other.query("SELECT @@session.time_zone AS zone, @@session.sql_mode AS mode");
  BOOST_CHECK_EQUAL(rows.at(0).text("zone"), "+00:00");
  BOOST_CHECK(rows.at(0).text("mode").find("STRICT_ALL_TABLES") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_read_on_a_lost_connection_is_done_again_once) {
  Database database;
  Session other = database.connect();
  kill_connection(database, other);
  int calls = 0;
  const auto read = [&] {
    ++calls;
    return connection_id(other);
  };
  BOOST_CHECK_GT(repeat_if_lost(other, read), 0);
  BOOST_CHECK_EQUAL(calls, 2);
  const auto never = [&]() -> int {
    ++calls;
    throw Unavailable(2006, "gone");
  };
  BOOST_CHECK_THROW(repeat_if_lost(other, never), Unavailable);
  BOOST_CHECK_EQUAL(calls, 4);
  other.disconnect();
  BOOST_CHECK_THROW(repeat_if_lost(other, never), Unavailable);
  BOOST_CHECK_EQUAL(calls, 5);
}

BOOST_AUTO_TEST_CASE(the_server_releases_the_locks_of_a_vanished_host) {
  Database database;
  const auto limit = database.session.query("SHOW VARIABLES LIKE 'idle_transaction_timeout'");
  if (limit.empty()) return;  // MySQL has no such variable
  BOOST_CHECK_EQUAL(limit.at(0).text("Value"), "4");
  add_entity(database.session, 1, "una");
  Session other = database.connect();
  other.execute("SET SESSION idle_transaction_timeout = 1");
  other.execute("START TRANSACTION");
  other.update("UPDATE entidades SET nombre = 'otra' WHERE id = 1");
  // The row is free before lock_wait_s has passed.
  BOOST_CHECK_EQUAL(database.session.update("UPDATE entidades SET nombre = 'mía' WHERE id = 1"), 1U);
  BOOST_CHECK_THROW(other.execute("COMMIT"), Unavailable);
}

BOOST_AUTO_TEST_CASE(reads_are_read_committed_so_that_no_gap_lock_blocks_a_writer) {
  Database database;
  Session reader = database.connect();
  Session writer = database.connect();
  writer.execute("SET SESSION innodb_lock_wait_timeout = 1");
  insert_notification(database.session, 7);
  reader.execute("START TRANSACTION");
  BOOST_CHECK_EQUAL(
      reader.query("SELECT id FROM notificaciones_pendientes WHERE estado = 'pendiente' FOR UPDATE").size(),
      1U);
  BOOST_CHECK_NO_THROW(insert_notification(writer, 7));
  BOOST_CHECK_EQUAL(reader.query("SELECT id FROM notificaciones_pendientes").size(), 2U);  // sees the new row
  reader.execute("ROLLBACK");
}

// At REPEATABLE READ, MariaDB 11.8 refuses to lock a row that has changed since the transaction read it
// (error 1020, innodb_snapshot_isolation).
BOOST_AUTO_TEST_CASE(a_row_that_changed_since_it_was_read_can_be_locked) {
  Database database;
  add_entity(database.session, 1, "una");
  Session other = database.connect();
  other.execute("START TRANSACTION");
  const auto name = [&](const char* how) {
    return other.query(std::string("SELECT nombre FROM entidades WHERE id = 1") + how).at(0).text("nombre");
  };
  BOOST_CHECK_EQUAL(name(""), "una");
  database.session.update("UPDATE entidades SET nombre = 'otra' WHERE id = 1");
  BOOST_CHECK_EQUAL(name(" FOR UPDATE"), "otra");
  BOOST_CHECK_NO_THROW(other.update("UPDATE entidades SET nombre = 'mía' WHERE id = 1"));
  other.execute("COMMIT");
}

BOOST_AUTO_TEST_CASE(a_duplicate_key_and_a_bad_statement_are_told_apart) {
  Database database;
  add_entity(database.session, 1, "una");
  BOOST_CHECK_THROW(database.session.update("INSERT INTO entidades (id, nombre) VALUES (1, 'otra')"),
                    DuplicateKey);
  BOOST_CHECK_THROW(database.session.query("SELECT nothing FROM nowhere"), DatabaseError);
  BOOST_CHECK_EQUAL(database.session.query("SELECT 1").size(), 1U);
}

BOOST_AUTO_TEST_CASE(a_deadlock_runs_the_whole_transaction_again) {
  Database database;
  add_entity(database.session, 1, "una");
  int runs = 0;
  transaction(database.session, [&] {
    database.session.update("UPDATE entidades SET nombre = CONCAT(nombre, '!') WHERE id = 1");
    if (++runs < 3) throw Conflict(1213, "deadlock");
  });
  BOOST_CHECK_EQUAL(runs, 3);
  BOOST_CHECK_EQUAL(list_entities(database.session).at(0).name, "una!");
}

BOOST_AUTO_TEST_CASE(a_refusal_is_committed_before_it_is_thrown) {
  Database database;
  auto& session = database.session;
  add_entity(session, 1, "una");
  int runs = 0;
  const auto rename_and_refuse = [&] {
    session.update("UPDATE entidades SET nombre = CONCAT(nombre, '!') WHERE id = 1");
    if (++runs == 1) throw Conflict(1213, "deadlock");
    throw CommittedRefusal("no");
  };
  BOOST_CHECK_THROW(transaction(session, [&] { transaction(session, rename_and_refuse); }), CommittedRefusal);
  session.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(runs, 2);
  BOOST_CHECK_EQUAL(list_entities(session).at(0).name, "una!");
  Session other = database.connect();
  const auto lose_and_refuse = [&] {
    session.execute("KILL " + std::to_string(connection_id(other)));
    throw CommittedRefusal("no");
  };
  // If the commit fails, the refusal is not thrown.
  BOOST_CHECK_THROW(transaction(other, lose_and_refuse), Unavailable);
}

BOOST_AUTO_TEST_CASE(a_transaction_that_a_cluster_refused_is_told_from_a_node_that_has_left_it) {
  Database database;
  const auto fail = [&](int code, const std::string& text) {
    database.session.execute("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = " + std::to_string(code) +
                             ", MESSAGE_TEXT = '" + text + "'");
  };
  const std::string overruled = "Got error 149 - \"Lock deadlock; Retry transaction\" during COMMIT";
  BOOST_CHECK_THROW(fail(1213, "Deadlock found"), Conflict);
  BOOST_CHECK_THROW(fail(3101, "Plugin instructed the server to rollback"), Conflict);
  BOOST_CHECK_THROW(fail(1180, overruled), Conflict);
  BOOST_CHECK(database.session.connected());
  for (const int left : {1180, 1047, 3100, 3796, 3797, 3798, 3799}) {
    BOOST_CHECK_THROW(fail(left, "Got error 5 during COMMIT"), Unavailable);
    BOOST_CHECK(!database.session.connected());
  }
}

BOOST_AUTO_TEST_CASE(a_temporary_server_failure_is_not_blamed_on_the_statement) {
  Database database;
  const auto fail = [&](int code) {
    database.session.execute("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = " + std::to_string(code) +
                             ", MESSAGE_TEXT = 'x'");
  };
  for (const int code : {1021, 1026, 1030, 1040, 1041, 1114, 1135, 1203, 1206, 1226,
                         1290, 1461, 1665, 1792, 1820, 1836, 1862, 1927, 3168, 3169})
    BOOST_CHECK_THROW(fail(code), Unavailable);
  for (const int code : {1317, 1969, 3024}) {
    int runs = 0;
    BOOST_CHECK_THROW(transaction(database.session, [&] { ++runs, fail(code); }), Conflict);
    BOOST_CHECK_EQUAL(runs, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_logins_is_unavailable) {
  Database database;
  NetworkUser user(database, false);
  database.session.execute("ALTER USER " + NetworkUser::account(user.settings.user) + " ACCOUNT LOCK");
  BOOST_CHECK_THROW(Session(user.settings, {}).connect(), Unavailable);
  database.session.execute("ALTER USER " + NetworkUser::account(user.settings.user) + " ACCOUNT UNLOCK");
  std::ofstream(user.password_file) << "another";
  BOOST_CHECK_THROW(Session(user.settings, {}).connect(), Unavailable);
  auto elsewhere = server("no_such_database");
  BOOST_CHECK_THROW(Session(elsewhere, {"root"}).connect(), Unavailable);
}

BOOST_AUTO_TEST_CASE(a_password_that_cannot_be_read_at_a_reconnect_is_unavailability) {
  Database database;
  NetworkUser user(database, true);
  Session session(user.settings, {});
  session.connect();
  session.disconnect();
  std::filesystem::remove(user.password_file);
  BOOST_CHECK_THROW(session.connect(), Unavailable);
  std::ofstream(user.password_file) << "s3creto";
  BOOST_CHECK_NO_THROW(session.connect());
}

BOOST_AUTO_TEST_CASE(a_table_that_is_locked_is_waited_for_a_bounded_time) {
  Database database;
  Session other = database.connect();
  database.session.execute("LOCK TABLES entidades WRITE");
  BOOST_CHECK_THROW(other.update("UPDATE entidades SET nombre = 'x' WHERE id = 1"), LockTimeout);
  database.session.execute("UNLOCK TABLES");
}

BOOST_AUTO_TEST_CASE(this_server_is_as_the_programs_need_it) {
  Database database;
  BOOST_TEST(require_server(database.session).empty());
  BOOST_CHECK_NO_THROW(try_write(database.session));
  database.session.execute("SET SESSION sql_mode = ''");
  BOOST_CHECK_THROW(require_server(database.session), Unavailable);
  BOOST_CHECK_NO_THROW(require_server(database.session));
}

BOOST_AUTO_TEST_CASE(no_server_is_unavailable) {
  auto settings = server("x");
  settings.socket = "/nonexistent/socket";
  Session session(settings, {"root"});
  BOOST_CHECK_THROW(session.connect(), Unavailable);
}

BOOST_AUTO_TEST_CASE(several_addresses_are_tried_in_order) {
  Database database;
  auto settings = server(database.name);
  settings.hosts = {"127.0.0.1:1", "127.0.0.1:2"};
  std::vector<std::string> skipped;
  Session session(
      settings, {.program_user = "root", .on_skipped = [&](const auto& error) { skipped.push_back(error); }});
  BOOST_CHECK_THROW(session.connect(), Unavailable);
  BOOST_REQUIRE_EQUAL(skipped.size(), 1U);  // the error of the last address is thrown
  BOOST_CHECK_NE(skipped[0].find("127.0.0.1:1)"), std::string::npos);
}

// The watchdog allows a limited time for one answer of the database. So the session reports progress, by a
// call of the function given to before_statements(), before each wait for an answer.
BOOST_AUTO_TEST_CASE(progress_is_told_while_connecting_and_after_the_preparation) {
  Database database;
  auto settings = server(database.name);
  int told = 0;
  const auto during = [&](Session& session, auto&& call) {
    session.before_statements([&] { ++told; });
    told = 0;
    call();
    return told;
  };
  Session session(settings, {"root"});
  // connect() reports progress when it begins, before it dials the server, and before it sets the isolation
  // level.
  BOOST_CHECK_EQUAL(during(session, [&] { session.connect(); }), 3);
  const auto ask = [&] { session.query("SELECT 1 AS uno"); };
  BOOST_CHECK_EQUAL(during(session, ask), 2);
  BOOST_CHECK_EQUAL(during(session, ask), 1);  // the statement is prepared already
  settings.hosts = {"127.0.0.1:1", "127.0.0.1:2"};
  Session none(settings, {"root"});
  BOOST_CHECK_EQUAL(during(none, [&] { BOOST_CHECK_THROW(none.connect(), Unavailable); }), 3);
}

namespace {

/// Reads until the session leaves the server, which has become read-only.
void read_until_left(Session& session) {
  const auto read = [&] { session.query("SELECT 1 AS one"); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (session.connected()) {
    BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
    // A read in a transaction does not check read_only, because the transaction's writes would fail anyway.
    BOOST_CHECK_NO_THROW(transaction(session, [&] { read(); }));
    try {
      read();
    } catch (const Unavailable&) {
      BOOST_CHECK(!session.connected());
    }
  }
}

}  // namespace

// After a switch of the primary, the former primary still answers reads, with rows that may be old. One
// address, such as that of HAProxy, may lead to either.
BOOST_AUTO_TEST_CASE(a_session_that_only_reads_leaves_a_server_that_became_read_only) {
  Database database;
  NetworkUser user(database, true);
  for (const auto addresses : {1, 2}) {
    user.settings.hosts.resize(addresses, user.settings.hosts.front());
    Session session(user.settings, {user.settings.user});
    session.query("SELECT 1 AS one");
    database.session.execute("SET GLOBAL read_only = ON");
    read_until_left(session);
    BOOST_CHECK_THROW(session.connect(), Unavailable);
    database.session.execute("SET GLOBAL read_only = OFF");
    BOOST_CHECK_NO_THROW(session.query("SELECT 1 AS one"));
  }
}

BOOST_AUTO_TEST_CASE(a_command_that_only_reads_may_use_a_replica) {
  Database database;
  NetworkUser user(database, true);
  database.session.execute("SET GLOBAL read_only = ON");
  Session session(user.settings, {.program_user = user.settings.user, .read_only = true});
  BOOST_CHECK_NO_THROW(session.query("SELECT 1 AS one"));
  database.session.execute("SET GLOBAL read_only = OFF");
}

BOOST_AUTO_TEST_CASE(a_server_that_accepts_and_says_nothing_is_unavailable_in_time) {
  // By default the connector waits forever.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BOOST_REQUIRE_EQUAL(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  BOOST_REQUIRE_EQUAL(::listen(listener, 8), 0);
  BOOST_REQUIRE_EQUAL(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  auto settings = server("x");
  settings.hosts = {"127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
  Session session(settings, {"root", 2});
  BOOST_CHECK_THROW(session.connect(), Unavailable);
  ::close(listener);
}

// MariaDB gets only a proof of the password. MySQL asks for the password itself, unless its cache knows the
// user. Over TCP the session sends the password only through TLS. It does not send the password encrypted
// with a public key, because anyone may have sent that key.
BOOST_AUTO_TEST_CASE(a_password_over_tcp_with_tls_and_without) {
  Database database;
  for (const bool tls : {true, false}) {
    const NetworkUser user(database, tls);
    Session session(user.settings, {});
    if (!tls && !database.session.is_mariadb()) {
      BOOST_CHECK_THROW(session.connect(), Unavailable);
      continue;
    }
    const auto cipher = session.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").at(0).text("Value");
    BOOST_TEST(cipher.empty() == !tls, cipher);
  }
}

BOOST_AUTO_TEST_CASE(tls_over_the_socket_too) {
  Database database;
  auto settings = server(database.name);
  settings.tls_ca = environment("TEST_DB_CA");
  Session session(settings, {});
  BOOST_TEST(!session.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").at(0).text("Value").empty());
}

BOOST_AUTO_TEST_CASE(tls_that_was_asked_for_and_not_given_is_an_error) {
  Database database;
  auto settings = server(database.name);
  settings.tls_ca = SOURCE_DIR "/README.md";  // not a certificate
  Session session(settings, {"root"});
  BOOST_CHECK_THROW(session.connect(), DatabaseError);
}

BOOST_AUTO_TEST_CASE(values_come_back_as_they_went) {
  Database database;
  const std::string text = "áñ😀 '\"\\ \n\t";
  const auto time = UtcTime(platform::Milliseconds(1763632800123));
  const auto rows = database.session.query(
      "SELECT ? AS text, ? AS lowest, ? AS highest, ? AS nothing, CAST(CAST(? AS DATETIME(3)) AS CHAR) AS "
      "time",
      text, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max(), nullptr,
      time);
  const auto& row = rows.at(0);
  BOOST_CHECK_EQUAL(row.text("text"), text);
  BOOST_CHECK_EQUAL(row.integer("lowest"), std::numeric_limits<std::int64_t>::min());
  BOOST_CHECK_EQUAL(row.unsigned_integer("highest"), std::numeric_limits<std::uint64_t>::max());
  BOOST_CHECK(row.null("nothing"));
  BOOST_CHECK(row.time("time") == time);
}

BOOST_AUTO_TEST_CASE(columns_are_called_as_the_statement_calls_them) {
  Database database;
  add_entity(database.session, 1, "Uno");
  const auto read = [&] {
    return database.session
        .query(
            "SELECT id, e.nombre, e.nombre AS otro, CAST(e.fecha_alta AS CHAR) AS fecha_alta FROM entidades "
            "e")
        .at(0);
  };
  BOOST_CHECK_EQUAL(read().integer("id"), 1);
  BOOST_CHECK_EQUAL(read().text("nombre"), "Uno");
  BOOST_CHECK_EQUAL(read().text("otro"), "Uno");
  BOOST_CHECK(read().time("fecha_alta") <= platform::utc_now() + std::chrono::hours(1));
  BOOST_CHECK_THROW(read().text("activa"), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(dates_that_are_none_are_read_as_none) {
  Database database;
  database.session.execute("CREATE TABLE fechas (id INT, fecha DATETIME(3))");
  database.session.execute("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'");
  database.session.execute(
      "INSERT INTO fechas VALUES (1, '0000-00-00'), (2, '2026-02-30 01:02:03.004'), (3, NULL)");
  for (const auto& row :
       database.session.query("SELECT CAST(fecha AS CHAR) AS fecha FROM fechas ORDER BY id"))
    BOOST_CHECK(!row.optional_time("fecha"));
}

BOOST_AUTO_TEST_SUITE_END()
