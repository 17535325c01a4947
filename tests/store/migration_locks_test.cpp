// An open transaction has read a table that a migration changes. Between its tries, the blocked migration
// lets other sessions use the table, and it names the session of the transaction.
#include <boost/test/unit_test.hpp>

#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;

namespace {

constexpr Patience brief{1, 3, platform::Milliseconds(10)};

/// A database, a transaction that has read `entregas`, and migrations, the last of which changes that table.
struct ReadTable {
  ReadTable() {
    migrations.push_back({number, "larga.sql", "ALTER TABLE entregas ADD COLUMN anotacion INT NULL;"});
    // No time-out of the server may end the reader's transaction.
    if (reader.is_mariadb()) reader.execute("SET SESSION idle_transaction_timeout = 0");
    connection = reader.query("SELECT CONNECTION_ID() AS id").at(0).text("id");
    reader.execute("START TRANSACTION");
    reader.query("SELECT COUNT(*) AS n FROM entregas");
  }

  void migrate(const std::function<void(const std::string&)>& progress) {
    Session session = database.connect();
    Session guard = database.connect();
    store::migrate(session, migrations, guard, progress, {.patience = brief});
  }

  bool migrated() {
    return !database.session
                .query(
                    "SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() AND"
                    " table_name = 'entregas' AND column_name = 'anotacion'")
                .empty();
  }

  Database database;
  Session reader = database.connect();
  std::vector<Migration> migrations = read_migrations(SOURCE_DIR "/sql/migrations");
  int number = static_cast<int>(migrations.size()) + 1;
  std::string connection;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_held_up(const std::string& line) { return line.starts_with("held up: "); }

}  // namespace

BOOST_AUTO_TEST_SUITE(migration_locks)

BOOST_AUTO_TEST_CASE(a_blocked_migration_frees_the_table_between_its_tries) {
  ReadTable table;
  Session other = table.database.connect();
  other.execute("SET SESSION lock_wait_timeout = 1");
  std::vector<std::string> told;
  table.migrate([&](const std::string& line) {
    if (!is_held_up(line)) return;
    told.push_back(line);
    BOOST_CHECK_NO_THROW(other.query("SELECT COUNT(*) AS n FROM entregas"));
    if (told.size() == 2) table.reader.execute("ROLLBACK");
  });
  BOOST_REQUIRE_EQUAL(told.size(), 2U);
  BOOST_TEST(contains(told[0], "try 1 of 3"), told[0]);
  BOOST_TEST(contains(told[0], "connection " + table.connection + " of root from localhost (Sleep)"),
             told[0]);
  BOOST_TEST(contains(told[0], "KILL " + table.connection), told[0]);
  BOOST_TEST(!contains(told[1], "KILL"), "the KILL is told twice: " << told[1]);
  BOOST_TEST(table.migrated());
}

BOOST_AUTO_TEST_CASE(a_blocked_migration_gives_up_unchanged_and_can_be_repeated) {
  ReadTable table;
  int tries = 0;
  const auto count = [&](const std::string& line) { tries += is_held_up(line) ? 1 : 0; };
  BOOST_CHECK_EXCEPTION(table.migrate(count), MigrationError, [](const MigrationError& error) {
    return std::string(error.what()).starts_with("larga.sql was not applied: ") &&
           contains(error.what(), "Nothing was changed");
  });
  BOOST_TEST(tries == brief.tries);
  BOOST_TEST(!table.migrated());
  BOOST_TEST(!migration_status(table.database.session, table.migrations).back().applied.has_value());
  table.reader.execute("ROLLBACK");
  table.migrate([](const std::string&) {});
  BOOST_TEST(table.migrated());
}

BOOST_AUTO_TEST_CASE(an_abandoned_migration_reports_that_earlier_changes_stay) {
  ReadTable table;
  table.migrations.back().sql =
      "CREATE TABLE IF NOT EXISTS prueba (id INT PRIMARY KEY); ALTER TABLE entregas ADD COLUMN anotacion INT "
      "NULL;";
  BOOST_CHECK_EXCEPTION(
      table.migrate([](const std::string&) {}), MigrationError,
      [](const MigrationError& error) { return contains(error.what(), "Earlier changes stay"); });
  table.reader.execute("ROLLBACK");
  table.migrate([](const std::string&) {});
  BOOST_TEST(table.migrated());
}

// The server completes a statement even if the program that sent it is killed.
BOOST_AUTO_TEST_CASE(a_change_that_a_killed_migration_had_begun_may_end_while_its_repetition_waits) {
  ReadTable table;
  table.migrations.back().sql =
      "SET @anotacion = IF(EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE()"
      " AND table_name = 'entregas' AND column_name = 'anotacion'), 'DO 0',"
      " 'ALTER TABLE entregas ADD COLUMN anotacion INT NULL');"
      "PREPARE anotacion FROM @anotacion; EXECUTE anotacion; DEALLOCATE PREPARE anotacion;";
  BOOST_CHECK_NO_THROW(table.migrate([&](const std::string& line) {
    if (!is_held_up(line)) return;
    table.reader.execute("ROLLBACK");
    table.database.session.execute("ALTER TABLE entregas ADD COLUMN anotacion INT NULL");
  }));
  BOOST_TEST(migration_status(table.database.session, table.migrations).back().applied.has_value());
}

// A transaction that a lost connection had prepared keeps its locks, and has no connection to KILL.
BOOST_AUTO_TEST_CASE(a_migration_blocked_by_a_prepared_transaction_says_how_to_find_it) {
  ReadTable table;
  table.reader.execute("ROLLBACK");
  {
    Session lost = table.database.connect();
    lost.execute("SET SESSION foreign_key_checks = 0");
    lost.execute("XA START 'migration_locks'");
    lost.execute(
        "INSERT INTO entregas (notificacion_id, webhook_id, evento, prueba, estado, proximo_intento, "
        "creada_en)"
        " VALUES (1, 1, 'evaluacion.abierta', FALSE, 'pendiente', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))");
    lost.execute("XA END 'migration_locks'");
    lost.execute("XA PREPARE 'migration_locks'");
  }
  std::vector<std::string> told;
  table.migrate([&](const std::string& line) {
    if (!is_held_up(line)) return;
    told.push_back(line);
    table.database.session.execute("XA ROLLBACK 'migration_locks'");
  });
  BOOST_REQUIRE_EQUAL(told.size(), 1U);
  BOOST_TEST(contains(told[0], "XA RECOVER"), told[0]);
  BOOST_TEST(table.migrated());
}

BOOST_AUTO_TEST_CASE(a_figure_added_to_an_applied_migration_is_no_change_of_it) {
  Database database;
  auto migrations = read_migrations(SOURCE_DIR "/sql/migrations");
  migrations.front().sql = "-- Takes: 5 s for a million rows.\n" + migrations.front().sql;
  Session guard = database.connect();
  BOOST_CHECK(migrate(database.session, migrations, guard, [](const std::string&) {}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
