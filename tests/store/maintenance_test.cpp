// Deliveries follow their webhooks; and what each duty of upkeep costs.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <set>

#include "maintenance_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(maintenance, MaintenanceFixture)

// Deliveries follow their webhooks.

BOOST_AUTO_TEST_CASE(deliveries_of_deleted_and_inactive_webhooks_are_found_among_many) {
  const auto deleted = add_webhook(session, 1), inactive = add_webhook(session, 2),
             active = add_webhook(session, 3);
  for (EntityId entity = 4; entity < 300; ++entity) add_webhook(session, entity);
  add_webhook(session, 300);
  for (EntityId entity = 1; entity <= 300; ++entity) insert_notification(session, entity);
  for (int i = 0; i < 3; ++i) expand(session);
  delete_webhook(session, 1, deleted.id);
  disable_webhook(session, inactive.id, disabled_by_operator);
  set_entity_active(session, 300, false);
  const auto changed = reconcile(session);
  BOOST_CHECK_EQUAL(changed.cancelled, 1U);
  BOOST_CHECK_EQUAL(changed.held, 2U);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'pendiente'"), 297);
  // And back, but not what rests for a secret that could not be read.
  session.update("UPDATE webhooks SET activo = TRUE, motivo = NULL WHERE id = ?", inactive.id);
  session.update("UPDATE entregas SET estado = 'retenida' WHERE webhook_id = ?", active.id);
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 "
      "HOUR)",
      active.id);
  BOOST_CHECK_EQUAL(reconcile(session).released, 1U);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'retenida'"), 2);
}

BOOST_AUTO_TEST_CASE(a_large_backlog_is_held_in_batches) {
  const auto webhook = add_webhook(session, 1);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1, 'evaluacion.cerrada', "
      "'{}' FROM " +
      numbers(1200));
  expand(session);
  expand(session);
  disable_webhook(session, webhook.id, disabled_by_operator);
  ReconcileWalk walk;
  reconcile_some(session, walk);
  BOOST_CHECK_EQUAL(walk.changed.held, 500U);
  BOOST_CHECK_EQUAL(reconcile(session).held, 700U);
}

BOOST_AUTO_TEST_CASE(with_nothing_to_do_a_reconciliation_reads_no_webhooks) {
  session.execute("INSERT INTO entidades (id, nombre) SELECT seq, 'e' FROM " + numbers(2000));
  session.execute(
      "INSERT INTO webhooks (entidad_id, plaza, url, eventos) SELECT e.seq, p.seq, "
      "'https://receptor.example.org/',"
      " 'evaluacion.cerrada' FROM " +
      numbers(2000, "e") + ", " + numbers(5, "p"));
  const auto rows_read = [&] {
    std::int64_t rows = 0;
    for (const auto* name : {"Handler_read_next", "Handler_read_rnd_next", "Handler_read_key"})
      rows += std::stoll(session.query(std::string("SHOW SESSION STATUS LIKE '") + name + "'").at(0).text(1));
    return rows;
  };
  const auto before = rows_read();
  reconcile(session);
  BOOST_CHECK_LT(rows_read() - before, 50 + 3 * 600);  // SHOW STATUS itself reads some 600 variables
}

// What each duty costs.

/// 50,000 deliveries of 1,000 webhooks, most of them done, some of each other kind.
void fill(Session& session) {
  session.execute("INSERT INTO entidades (id, nombre) SELECT seq, 'e' FROM " + numbers(1000));
  session.execute(
      "INSERT INTO webhooks (entidad_id, plaza, url, eventos) SELECT seq, 1, 'https://receptor.example.org/',"
      " 'evaluacion.cerrada' FROM " +
      numbers(1000));
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en) SELECT 1 + "
      "seq % 1000,"
      " 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL 50000 - seq MINUTE FROM " +
      numbers(50000));
  session.execute(
      "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, terminada_en, "
      "arriendo,"
      " arriendo_hasta, paso) SELECT id, 1 + id % 1000, e, terminada_en + INTERVAL IF(e = 'pendiente', "
      "70000, 0) MINUTE,"
      " terminada_en, IF(e IN ('entregada', 'fallida'), terminada_en, NULL), IF(e = 'en_curso', 7, NULL),"
      " IF(e = 'en_curso', UTC_TIMESTAMP(3) + INTERVAL id - 25000 SECOND, NULL), id % 3"
      " FROM (SELECT id, terminada_en, CASE WHEN id % 50 = 0 THEN 'fallida' WHEN id % 50 < 6 THEN 'pendiente'"
      " WHEN id % 100 = 7 THEN 'en_curso' WHEN id % 500 = 8 THEN 'retenida' ELSE 'entregada' END e"
      " FROM notificaciones_pendientes) n ORDER BY id");
  session.execute(
      "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms) SELECT id, 1, creada_en, 9 "
      "FROM entregas");
  session.execute(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) SELECT id, IF(id % 9, NULL, "
      "UTC_TIMESTAMP(3)) FROM"
      " webhooks");
  session.execute(
      "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3) - INTERVAL 31 DAY WHERE id % 100 = 3");
  session.execute("UPDATE webhooks SET activo = FALSE, motivo = 'operador' WHERE id % 100 = 4");
  for (const auto* table : {"entregas", "notificaciones_pendientes", "intentos_entrega", "webhooks"})
    session.query(std::string("ANALYZE TABLE ") + table);
}

/// Each statement of `work`, as the server ran it.
std::vector<std::string> statements_of(Session& session, const std::function<void()>& work) {
  session.execute("SET GLOBAL log_output = 'TABLE'");
  session.execute("TRUNCATE mysql.general_log");
  session.execute("SET GLOBAL general_log = ON");
  work();
  session.execute("SET GLOBAL general_log = OFF");
  std::vector<std::string> statements;
  for (const auto& row : session.query("SELECT CAST(argument AS CHAR) FROM mysql.general_log WHERE thread_id "
                                       "= CONNECTION_ID() AND command_type ="
                                       " 'Execute' AND argument REGEXP '^(SELECT|UPDATE|DELETE)'"))
    statements.push_back(row.text(0));
  return statements;
}

BOOST_AUTO_TEST_CASE(every_statement_of_upkeep_seeks) {
  fill(session);
  std::set<std::string> tables;
  const auto statements = statements_of(session, [&] {
    recover_expired_leases(session, 500);
    watch_clock(session);
    mend(session);
    reconcile(session);
    sweep(session, retention);
    PurgeWalk follower;
    purge(session, {day, day, day}, follower);
  });
  BOOST_CHECK_GT(statements.size(), 100U);
  for (const auto& statement : statements) {
    for (const auto& step : explain(session, statement)) {
      if (step.table.empty() || step.access.empty()) continue;  // no table
      const auto& table = step.table;
      tables.insert(table);
      const bool scanned = step.access == "ALL" || step.access == "index";
      const bool small = table == "j" || table.starts_with("<") || table == "webhook_ejecuciones";
      BOOST_CHECK_MESSAGE(!scanned || small, "reads all of " << table << ": " << statement.substr(0, 300));
      BOOST_CHECK_MESSAGE(small || step.extra.find("filesort") == std::string::npos,
                          "sorts " << table << ": " << statement.substr(0, 300));
    }
  }
  for (const auto* table : {"e", "d", "i", "n", "w", "x", "entregas"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_SUITE_END()
