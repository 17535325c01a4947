// A value that no program of ours writes, such as a date of 0000-00-00, delays no other row.
#include <boost/test/unit_test.hpp>

#include "lib/store/deliveries/brought_forward.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "lib/store/maintenance/held.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/replays/replay_feed.hpp"
#include "lib/store/schema/migrations.hpp"
#include "lib/store/webhooks/changes.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(unreadable, DeliveryFixture)

namespace {

/// Changes a row as an operator's session without a strict sql_mode does. `checks`: false also switches the
/// CHECKs off, which only MariaDB can. False: a CHECK refuses the value.
bool write_loosely(const Database& database, const std::string& sql, bool checks) {
  auto operator_ = database.connect();
  operator_.execute("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'");
  if (!checks) operator_.execute("SET SESSION check_constraint_checks = 0");
  try {
    operator_.execute(sql);
    return true;
  } catch (const Refused&) {
    return false;
  }
}

/// The dates that the dispatcher reads, apart from those of notifications.
struct Column {
  std::string table, name;
};
std::vector<Column> date_columns(Session& session) {
  std::vector<Column> result;
  for (const auto& row : session.query(
           "SELECT table_name AS t, column_name AS c FROM information_schema.columns"
           " WHERE table_schema = DATABASE() AND data_type = 'datetime' AND table_name IN ('entregas',"
           " 'intentos_entrega', 'webhook_ejecuciones', 'webhooks', 'entidades', 'reenvios', 'cortes_envio',"
           " 'reloj_visto', 'diagnosticos', 'contactos', 'avisos', 'codigos_pedidos',"
           " 'notificaciones_anuladas')"))
    result.push_back({row.text("t"), row.text("c")});
  return result;
}

/// Makes `entregas` as it is on MySQL if it was too large for the CHECKs of its dates.
void drop_checks_of_deliveries(Session& session) {
  session.execute(session.is_mariadb()
                      ? "ALTER TABLE entregas MODIFY COLUMN proximo_intento DATETIME(3) NOT NULL,"
                        " MODIFY COLUMN arriendo_hasta DATETIME(3) NULL"
                      : "ALTER TABLE entregas DROP CHECK entregas_chk_1, DROP CHECK entregas_chk_2");
}

/// What the dispatcher's loop does in a while.
void work(Session& session) {
  peek_queue(session);
  find_waiting_webhooks(session, {IdRange{}});
  ForwardWalk forward;
  while (!forward.done) bring_forward(session, {5, platform::Milliseconds(900000)}, forward);
  recover_expired_leases(session, 500);
  reconcile(session);
  HeldWalk held;
  while (!held.done) give_up_held(session, 90 * day, held);
  ChangeWalk changes;
  while (!changes.done) apply_changes(session, changes);
  ReplayWalk replays;
  while (!replays.done) feed_replays(session, 5, replays);
  PurgeWalk follower;
  purge(session, retention, follower);
  sweep(session, retention);
  see_and_accept_clock(session);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_schema_refuses_a_date_that_the_calendar_lacks) {
  queue_one();
  record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))}, {Milliseconds(0)});
  session.execute("INSERT INTO reenvios (entidad_id, webhook_id, candidatas, tope) VALUES (1, " +
                  to_string(webhook.id) + ", 1, 1)");
  session.execute(
      "INSERT INTO cortes_envio (despachador, tipo, desde, visto_en)"
      " VALUES ('d:1', 'red', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))");
  session.execute("INSERT INTO diagnosticos (webhook_id, entidad_id, entidad_nombre) VALUES (" +
                  to_string(webhook.id) + ", 1, 'E')");
  session.execute(
      "INSERT INTO contactos (entidad_id, plaza, correo, avisos) VALUES (1, 1, 'a@ejemplo.es', 'token')");
  session.execute(
      "INSERT INTO codigos_pedidos (huella, plaza, entidad_id, pedido_en) VALUES ('h', 1, 1, "
      "UTC_TIMESTAMP(3))");
  session.execute(
      "INSERT INTO avisos (contacto_id, tipo, episodio, datos, proximo_intento) VALUES (1, 'fallo', 'x', "
      "'{}', "
      "UTC_TIMESTAMP(3))");
  session.execute(
      "INSERT INTO notificaciones_anuladas (notificacion_id, anulada_en) VALUES (1, UTC_TIMESTAMP(3))");
  const auto columns = date_columns(session);
  // Counted, too, because another CHECK of the row may refuse the value first.
  BOOST_CHECK_EQUAL(
      session
          .query("SELECT COUNT(*) AS n FROM information_schema.check_constraints"
                 " WHERE constraint_schema = DATABASE() AND LOWER(check_clause) LIKE '%interval 0 day%'")
          .at(0)
          .unsigned_integer("n"),
      columns.size());
  BOOST_CHECK_EQUAL(columns.size(), 40U);
  for (const auto& [table, name] : columns) {
    for (const auto* date : {"0000-00-00", "2026-00-15", "2026-01-00", "2026-02-31"})
      BOOST_TEST(
          !write_loosely(database, "UPDATE " + table + " SET " + name + " = '" + date + "' LIMIT 1", true),
          table << "." << name << " " << date);
  }
}

BOOST_AUTO_TEST_CASE(a_delivery_without_a_readable_date_is_due) {
  drop_checks_of_deliveries(session);
  const auto other = add_webhook(session, 2);
  queue_one();
  insert_notification(session, 2);
  fan_out(session);
  BOOST_REQUIRE(write_loosely(
      database, "UPDATE entregas SET proximo_intento = 0 WHERE webhook_id = " + to_string(webhook.id), true));
  const auto waiting = find_waiting_webhooks(
      session, {{webhook.id.number(), webhook.id.number()}, {other.id.number(), other.id.number()}});
  BOOST_REQUIRE_EQUAL(waiting.size(), 2U);
  BOOST_CHECK(waiting[0].until.count() <= 0 && waiting[1].until.count() <= 0);
  const auto leased = claim(session, {{webhook.id, 1}, {other.id, 1}}, long_lease).leased.deliveries;
  BOOST_REQUIRE_EQUAL(leased.size(), 2U);
  BOOST_REQUIRE(write_loosely(database, "UPDATE entregas SET arriendo_hasta = 0", true));
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 500).count, 2U);
  const auto again = claim(session, {{webhook.id, 1}, {other.id, 1}}, long_lease).leased.deliveries;
  BOOST_REQUIRE_EQUAL(again.size(), 2U);
  BOOST_CHECK(record_results(session, {failed_attempt(again[0], Milliseconds(3600000)), delivered(again[1])},
                             {Milliseconds(0)})
                  .stale.empty());
  BOOST_CHECK_EQUAL(
      session.query("SELECT COUNT(*) AS n FROM entregas WHERE proximo_intento = 0").at(0).integer("n"), 0);
}

BOOST_AUTO_TEST_CASE(no_date_of_a_row_ends_a_task) {
  if (!session.is_mariadb()) return;
  add_deliveries(3, "pendiente", 1);
  add_deliveries(2, "retenida", 1);
  add_deliveries(2, "fallida", 100);
  record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))}, {Milliseconds(0)});
  session.execute("INSERT INTO cambios_webhook (webhook_id, adelantar) SELECT id, TRUE FROM webhooks");
  for (const auto& [table, name] : date_columns(session)) {
    const auto set = "UPDATE " + table + " SET " + name + " = ";
    if (!write_loosely(database, set + "0", false)) continue;
    BOOST_TEST_CONTEXT(table << "." << name) { BOOST_CHECK_NO_THROW(work(session)); }
    write_loosely(database, set + "UTC_TIMESTAMP(3) WHERE " + name + " = 0", false);
  }
}

BOOST_AUTO_TEST_CASE(the_migration_mends_the_dates_of_before) {
  if (!session.is_mariadb()) return;
  queue_one();
  BOOST_REQUIRE(write_loosely(
      database, "UPDATE entregas SET proximo_intento = 0, no_antes = '2026-00-15', creada_en = '2026-02-31'",
      false));
  session.execute("DELETE FROM migraciones WHERE numero = 31");
  Session guard = database.connect();
  migrate(session, read_migrations(SOURCE_DIR "/sql/migrations"), guard, [](const std::string&) {});
  const auto row = session.query(
      "SELECT proximo_intento > UTC_TIMESTAMP() - INTERVAL 1 HOUR AS p, no_antes > UTC_TIMESTAMP() - "
      "INTERVAL "
      "1 HOUR AS n, creada_en > UTC_TIMESTAMP() - INTERVAL 1 HOUR AS c, terminada_en IS NULL AS t FROM "
      "entregas");
  for (const auto* column : {"p", "n", "c", "t"}) BOOST_TEST(row.at(0).boolean(column), column);
}

BOOST_AUTO_TEST_SUITE_END()
