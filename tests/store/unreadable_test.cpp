// A value that no program of ours writes, such as a date of 0000-00-00, delays no other row.
#include <boost/test/unit_test.hpp>

#include "lib/store/deliveries/claim_early.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "lib/store/maintenance/held.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/replays/replay_feed.hpp"
#include "lib/store/webhooks/changes.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(unreadable, DeliveryFixture)

namespace {

/// Changes a row as an operator's session without a strict sql_mode does. False: a CHECK refuses the value.
bool write_loosely(const Database& database, const std::string& sql) {
  auto operator_ = database.connect();
  operator_.execute("SET SESSION sql_mode = ''");
  try {
    operator_.execute(sql);
    return true;
  } catch (const Refused&) {
    return false;
  }
}

/// What the dispatcher's loop does in a while.
void work(Session& session) {
  peek_queue(session);
  find_waiting_webhooks(session, {IdRange{}});
  find_early(session, {}, 0, 500);
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
  std::optional<ClockSight> sight;
  watch_clock(session, sight, platform::monotonic_now());
  mend(session);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_delivery_without_a_readable_date_is_due) {
  const auto other = add_webhook(session, 2);
  queue_one();
  insert_notification(session, 2);
  fan_out(session);
  BOOST_REQUIRE(write_loosely(
      database, "UPDATE entregas SET proximo_intento = 0 WHERE webhook_id = " + to_string(webhook.id)));
  const auto waiting = find_waiting_webhooks(
      session, {{webhook.id.number(), webhook.id.number()}, {other.id.number(), other.id.number()}});
  BOOST_REQUIRE_EQUAL(waiting.size(), 2U);
  BOOST_CHECK(waiting[0].until.count() <= 0 && waiting[1].until.count() <= 0);
  const auto leased = claim(session, {{webhook.id, 1}, {other.id, 1}}, long_lease).leased.deliveries;
  BOOST_REQUIRE_EQUAL(leased.size(), 2U);
  BOOST_REQUIRE(write_loosely(database, "UPDATE entregas SET arriendo_hasta = 0"));
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
  add_deliveries(3, "pendiente", 1);
  add_deliveries(2, "retenida", 1);
  add_deliveries(2, "fallida", 100);
  record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))}, {Milliseconds(0)});
  session.execute("INSERT INTO cambios_webhook (webhook_id, adelantar) SELECT id, TRUE FROM webhooks");
  const auto columns = session.query(
      "SELECT table_name AS t, column_name AS c FROM information_schema.columns"
      " WHERE table_schema = DATABASE() AND data_type = 'datetime' AND COALESCE(generation_expression, '') = "
      "''"
      " AND table_name IN ('entregas', 'intentos_entrega', 'webhook_ejecuciones', 'webhooks', 'entidades', "
      "'reenvios',"
      " 'cortes_envio', 'reloj_visto', 'diagnosticos', 'pruebas_por_borrar')");
  for (const auto& column : columns) {
    const auto name = column.text("t") + "." + column.text("c");
    if (!write_loosely(database, "UPDATE " + column.text("t") + " SET " + column.text("c") + " = 0"))
      continue;
    BOOST_TEST_CONTEXT(name) { BOOST_CHECK_NO_THROW(work(session)); }
    write_loosely(database, "UPDATE " + column.text("t") + " SET " + column.text("c") +
                                " = UTC_TIMESTAMP(3) WHERE " + column.text("c") + " = 0");
  }
}

BOOST_AUTO_TEST_SUITE_END()
