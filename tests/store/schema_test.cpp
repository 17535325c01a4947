// What the schema refuses from any writer, and the migrations that make the schema.
#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "lib/store/backlog/queue.hpp"
#include "tests/store/database.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;

namespace {

void insert(Session& session, std::string_view event, std::string_view data,
            const std::optional<std::string>& key = {}) {
  session.update(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES (7, ?, ?, ?)", event,
      data, key);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(schema)

BOOST_AUTO_TEST_CASE(an_unknown_event_fails_at_the_insert_in_any_sql_mode) {
  Database database;
  for (const auto* mode : {"STRICT_ALL_TABLES", ""}) {
    database.session.execute(std::string("SET SESSION sql_mode = '") + mode + "'");
    for (const auto* event : {"evaluacion.abiertas", "", "evaluacion.abierta ", " evaluacion.abierta",
                              "EVALUACION.ABIERTA", "1"}) {
      BOOST_TEST_CONTEXT(event) { BOOST_CHECK_THROW(insert(database.session, event, "{}"), DatabaseError); }
    }
  }
}

BOOST_AUTO_TEST_CASE(text_that_is_not_json_or_too_long_fails_at_the_insert) {
  Database database;
  for (const std::string& data : {std::string("{"), std::string(), "\"" + std::string(65536, 'a') + "\""}) {
    BOOST_CHECK_THROW(insert(database.session, "evaluacion.abierta", data), DatabaseError);
  }
  BOOST_CHECK_NO_THROW(insert(database.session, "evaluacion.abierta", "\"" + std::string(65534, 'a') + "\""));
}

// The servers' default collations for utf8mb4 ignore case, and differ: MariaDB's is utf8mb4_general_ci before
// 11.5, and utf8mb4_uca1400_ai_ci from 11.5 on.
BOOST_AUTO_TEST_CASE(no_text_has_the_collation_that_a_server_prefers) {
  Database database;
  std::set<std::string> collations;
  for (const auto& row :
       database.session.query("SELECT DISTINCT collation_name AS name FROM information_schema.columns WHERE"
                              " table_schema = DATABASE() AND collation_name IS NOT NULL"))
    collations.insert(row.text("name"));
  BOOST_TEST((collations == std::set<std::string>{"ascii_bin", "utf8mb4_bin"}));
}

BOOST_AUTO_TEST_CASE(data_are_kept_byte_for_byte) {
  Database database;
  const std::string data = "{ \"b\": 7.50,\"a\":1e2 , \"\\u00e1\":\"á😀\" }";
  const auto id = insert_notification(database.session, 7, "evaluacion.cerrada", data);
  BOOST_CHECK_EQUAL(find_notification(database.session, id)->data.value(), data);
}

BOOST_AUTO_TEST_CASE(a_key_notifies_once_and_is_compared_exactly) {
  Database database;
  insert(database.session, "evaluacion.abierta", "{}", "clave");
  BOOST_CHECK_THROW(insert(database.session, "evaluacion.abierta", "{}", "clave"), DuplicateKey);
  for (const auto* other : {"clave ", "Clave", "clavé"})
    BOOST_CHECK_NO_THROW(insert(database.session, "evaluacion.abierta", "{}", other));
  BOOST_CHECK_THROW(insert(database.session, "evaluacion.abierta", "{}", std::string(65, 'x')),
                    DatabaseError);
  std::string characters;
  for (int i = 0; i < 64; ++i) characters += "ñ";
  BOOST_CHECK_NO_THROW(insert(database.session, "evaluacion.abierta", "{}", characters));
}

/// As a release before migration 0042 left the table.
BOOST_AUTO_TEST_CASE(one_index_takes_the_place_of_two_and_keeps_keys_unique) {
  Database database;
  auto& session = database.session;
  session.execute(
      "ALTER TABLE notificaciones_pendientes DROP KEY notificaciones_clave,"
      " ADD UNIQUE KEY notificaciones_clave (entidad_id, clave_unica),"
      " ADD KEY notificaciones_por_clave (entidad_id, clave)");
  insert(session, "evaluacion.abierta", "{}", "k");
  const auto nothing = [](const std::string&) {};
  Session guard = database.connect();
  for (const auto* of : {"the tables before", "the tables after, where a kill left no row in migraciones"}) {
    session.execute("DELETE FROM migraciones WHERE numero = 42");
    BOOST_TEST_CONTEXT(of)
    BOOST_TEST(migrate(session, read_migrations(SOURCE_DIR "/sql/migrations"), guard, nothing).size() == 1U);
  }
  const auto indexes = session.query(
      "SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index) AS columnas, MAX(non_unique) AS repetible"
      " FROM information_schema.statistics WHERE table_schema = DATABASE()"
      " AND table_name = 'notificaciones_pendientes' GROUP BY index_name HAVING columnas LIKE "
      "'entidad_id,%'");
  BOOST_REQUIRE_EQUAL(indexes.size(), 1U);
  BOOST_TEST(indexes.at(0).text("columnas") == "entidad_id,clave,clave_unica");
  BOOST_TEST(indexes.at(0).integer("repetible") == 0);
  BOOST_CHECK_THROW(insert(session, "evaluacion.abierta", "{}", "k"), DuplicateKey);
}

BOOST_AUTO_TEST_CASE(a_key_is_freed_by_a_rejection_and_taken_again_by_a_retry) {
  Database database;
  insert(database.session, "evaluacion.abierta", "{}", "k");
  const auto id = database.session.last_insert_id();
  reject_notifications(database.session, {{id, "datos.titulo: falta"}});
  insert(database.session, "evaluacion.abierta", "{}", "k");
  BOOST_CHECK_THROW(retry_notification(database.session, id), DuplicateKey);
  BOOST_CHECK(discard_notification(database.session, id) == NotificationChange::done);
  BOOST_CHECK_EQUAL(*find_notification(database.session, id)->error, "datos.titulo: falta");
}

BOOST_AUTO_TEST_CASE(occurrence_defaults_to_utc_whatever_the_time_zone_of_the_session) {
  Database database;
  database.session.execute("SET time_zone = '-11:00'");
  const auto id = insert_notification(database.session, 7);
  const auto difference = database.session.query(
      "SELECT ABS(TIMESTAMPDIFF(SECOND, ocurrida_en, UTC_TIMESTAMP(3))) AS seconds FROM "
      "notificaciones_pendientes WHERE "
      "id = ?",
      id);
  BOOST_CHECK_LT(difference.at(0).integer("seconds"), 60);
}

BOOST_AUTO_TEST_CASE(a_leased_delivery_has_a_lease_and_a_finished_one_an_end) {
  Database database;
  add_webhook(database.session, 7);
  insert_notification(database.session, 7);
  fan_out(database.session);
  BOOST_CHECK_THROW(database.session.update("UPDATE entregas SET estado = 'en_curso'"), DatabaseError);
  BOOST_CHECK_THROW(database.session.update("UPDATE entregas SET estado = 'entregada'"), DatabaseError);
  BOOST_CHECK_THROW(database.session.update("UPDATE webhooks SET activo = FALSE"), DatabaseError);
  BOOST_CHECK_THROW(database.session.update("UPDATE webhooks SET plaza = 6"), DatabaseError);
}

// `espera`, the first column of the index of what waits, is NULL both for `en_curso` and for `entregada`, so
// recording a success does not change the index.
BOOST_AUTO_TEST_CASE(only_pending_failed_and_held_deliveries_are_indexed_as_waiting) {
  Database database;
  add_webhook(database.session, 7);
  insert_notification(database.session, 7);
  fan_out(database.session);
  const std::map<std::string, std::string> searched{{"pendiente", "pendiente"}, {"en_curso", "-"},
                                                    {"entregada", "-"},         {"fallida", "fallida"},
                                                    {"cancelada", "-"},         {"retenida", "retenida"}};
  database.session.execute("SET @any_state = 1");
  for (const auto& [state, found] : searched) {
    database.session.update(
        "UPDATE entregas SET estado = ?, arriendo = IF(estado = 'en_curso', 1, NULL), arriendo_hasta ="
        " IF(estado = 'en_curso', UTC_TIMESTAMP(3), NULL),"
        " terminada_en = IF(estado IN ('entregada', 'fallida', 'cancelada'), UTC_TIMESTAMP(3), NULL)",
        state);
    BOOST_TEST(
        database.session.query("SELECT COALESCE(espera, '-') AS found FROM entregas").at(0).text("found") ==
            found,
        state);
  }
}

// Before release 0.3.0 what is for later had a state and a list of its own.
BOOST_AUTO_TEST_CASE(what_was_deferred_before_is_still_for_later) {
  Database database;
  auto& session = database.session;
  insert_notification(session, 7);
  session.execute(
      "ALTER TABLE notificaciones_pendientes DROP CONSTRAINT notificaciones_terminada,"
      " MODIFY COLUMN estado ENUM('pendiente', 'procesada', 'rechazada', 'cancelada', 'aplazada')"
      " CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pendiente',"
      " DROP KEY notificaciones_por_expandir, DROP COLUMN aplazada_hasta,"
      " ADD KEY notificaciones_por_expandir (estado, entidad_id, id)");
  session.execute("CREATE TABLE notificaciones_aplazadas (notificacion_id BIGINT NOT NULL PRIMARY KEY)");
  session.execute("SET @any_state = 1");
  session.execute("UPDATE notificaciones_pendientes SET estado = 'aplazada', no_antes_de = '2030-01-01'");
  session.execute("DELETE FROM migraciones WHERE numero >= 43");
  session.execute(
      "UPDATE migraciones SET huella = CASE numero"
      " WHEN 37 THEN 'bdff6f3681a8e2f88c1d56e0434d84cbcd4ed2a1466b19080c524240c4c6b55c'"
      " WHEN 40 THEN '62ad49cdc576cb9d1e57407a9d7c21ebf19cbbf21c4547b6a19e2732f2645491' ELSE huella END");
  const auto migrations = read_migrations(SOURCE_DIR "/sql/migrations");
  Session guard = database.connect();
  BOOST_TEST(migrate(session, migrations, guard, [](const std::string&) {}).size() == migrations.size() - 42);
  const auto row =
      session.query("SELECT estado, CAST(aplazada_hasta AS CHAR) AS hasta FROM notificaciones_pendientes")
          .at(0);
  BOOST_TEST(row.text("estado") == "pendiente");
  BOOST_TEST(row.text("hasta") == "2030-01-01 00:00:00.000");
  BOOST_TEST(queue_status(session).deferred == 1);
}

BOOST_AUTO_TEST_CASE(another_text_of_an_applied_migration_is_refused) {
  Database database;
  database.session.execute("UPDATE migraciones SET huella = REPEAT('0', 64) WHERE numero IN (37)");
  Session guard = database.connect();
  BOOST_CHECK_EXCEPTION(migrate(database.session, read_migrations(SOURCE_DIR "/sql/migrations"), guard,
                                [](const std::string&) {}),
                        MigrationError, [](const MigrationError& error) {
                          return std::string_view(error.what()).find("0037_caducidad.sql differs") !=
                                 std::string_view::npos;
                        });
}

BOOST_AUTO_TEST_CASE(migrations_can_be_repeated_and_run_at_once) {
  Database database;
  const auto migrations = read_migrations(SOURCE_DIR "/sql/migrations");
  const auto nothing = [](const std::string&) {};
  Session guard = database.connect();
  BOOST_CHECK(migrate(database.session, migrations, guard, nothing).empty());
  for (const auto& state : migration_status(database.session, migrations))
    BOOST_CHECK(state.applied.has_value());

  // Deletes the record of each migration, as if each had been interrupted just before it was recorded. Then
  // two sessions migrate at the same time.
  database.session.execute("DELETE FROM migraciones");
  std::vector<std::string> first;
  ThreadedWork other([&] {
    Session session = database.connect();
    Session other_guard = database.connect();
    first = migrate(session, migrations, other_guard, nothing);
  });
  const auto second = migrate(database.session, migrations, guard, nothing);
  other.join();
  BOOST_CHECK_EQUAL(first.size() + second.size(), migrations.size());
}

// COMPACT, which a server may have as its default, has no room for the key of urls_desactivadas.
BOOST_AUTO_TEST_CASE(every_table_has_the_dynamic_row_format_whatever_the_default_of_the_server) {
  for (const auto* format : {"compact", "redundant"}) {
    Session server_session(server(""), {"root", 30});
    server_session.execute(std::string("SET GLOBAL innodb_default_row_format = ") + format);
    std::optional<Database> database;
    BOOST_CHECK_NO_THROW(database.emplace());
    server_session.execute("SET GLOBAL innodb_default_row_format = dynamic");
    BOOST_REQUIRE(database);
    const auto others = database->session.query(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()"
        " AND table_type = 'BASE TABLE' AND row_format <> 'Dynamic'");
    BOOST_TEST(others.size() == 0U, format);
  }
}

BOOST_AUTO_TEST_CASE(a_webhook_that_fails_since_a_version_without_probes_gets_one_after_the_upgrade) {
  Database database;
  auto& session = database.session;
  // The rows of webhook 1, which fails, and of webhook 2, which does not, are as release 0.1.0 wrote them.
  // The row of webhook 3, which fails, has `fallos_ultimo`, as this release writes it.
  session.execute(
      "INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_error, fallos, fallos_desde)"
      " VALUES (1, UTC_TIMESTAMP(3), 'error', 1, UTC_TIMESTAMP(3)), (2, UTC_TIMESTAMP(3), '', 0, NULL),"
      " (3, UTC_TIMESTAMP(3), 'error', 1, UTC_TIMESTAMP(3))");
  session.execute("UPDATE webhook_ejecuciones SET fallos_ultimo = UTC_TIMESTAMP(3) WHERE webhook_id = 3");
  session.execute("DELETE FROM migraciones WHERE numero >= 29");
  Session guard = database.connect();
  migrate(session, read_migrations(SOURCE_DIR "/sql/migrations"), guard, [](const std::string&) {});
  const auto due = session.query("SELECT webhook_id FROM webhook_ejecuciones WHERE adelantar_en IS NOT NULL");
  BOOST_REQUIRE_EQUAL(due.size(), 1U);
  BOOST_CHECK_EQUAL(due[0].integer("webhook_id"), 1);
}

BOOST_AUTO_TEST_CASE(a_statement_that_takes_longer_than_the_guard_lasts_keeps_it) {
  Database database;
  auto migrations = read_migrations(SOURCE_DIR "/sql/migrations");
  migrations.push_back({static_cast<int>(migrations.size()) + 1, "larga.sql", "DO SLEEP(3);"});
  std::array<std::size_t, 2> applied{};
  run_at_once(2, [&](int i) {
    Session session = database.connect();
    Session guard = database.connect();
    applied.at(static_cast<std::size_t>(i)) =
        migrate(session, migrations, guard, [](const std::string&) {}, {platform::Milliseconds(500)}).size();
  });
  BOOST_CHECK_EQUAL(applied[0] + applied[1], 1U);
}

BOOST_AUTO_TEST_CASE(a_migration_changed_after_it_was_applied_is_an_error) {
  Database database;
  auto migrations = read_migrations(SOURCE_DIR "/sql/migrations");
  migrations.front().sql += "\n";
  Session guard = database.connect();
  BOOST_CHECK_THROW(migrate(database.session, migrations, guard, [](const std::string&) {}), MigrationError);
}

BOOST_AUTO_TEST_CASE(statements_are_split_outside_quotes_and_comments) {
  const auto statements =
      split_statements("-- a; comment\nSELECT ';', \"a;b\"; /* ; */ SELECT 'it''s;' ;\n;\n");
  BOOST_REQUIRE_EQUAL(statements.size(), 2U);
  BOOST_CHECK_EQUAL(statements[0], "SELECT ';', \"a;b\"");
  BOOST_CHECK_EQUAL(statements[1], "SELECT 'it''s;'");
}

BOOST_AUTO_TEST_SUITE_END()
