// Deliveries are held, released and cancelled when their webhooks are disabled, enabled and deleted.
// Deliveries that are held for too long are given up.
#include <boost/test/unit_test.hpp>

#include "dispatcher/maintenance/maintenance.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/maintenance/held.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(maintenance, MaintenanceFixture)

BOOST_AUTO_TEST_CASE(deliveries_of_deleted_and_inactive_webhooks_are_found_among_many) {
  const auto deleted = add_webhook(session, 1), inactive = add_webhook(session, 2),
             active = add_webhook(session, 3);
  for (int entity = 4; entity < 300; ++entity) add_webhook(session, entity);
  add_webhook(session, 300);
  for (int entity = 1; entity <= 300; ++entity) insert_notification(session, entity);
  for (int i = 0; i < 3; ++i) fan_out(session);
  delete_webhook(session, {1}, deleted.id);
  disable_webhook(session, inactive.id, disabled_by_operator);
  set_entity_active(session, 300, false);
  const auto changed = reconcile(session);
  BOOST_CHECK_EQUAL(changed.cancelled, 1U);
  BOOST_CHECK_EQUAL(changed.held, 2U);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'pendiente'"), 297);
  // Deliveries are released again, but not while their webhook rests: its secret may be unreadable.
  session.update("UPDATE webhooks SET activo = TRUE, motivo = NULL WHERE id = ?", inactive.id);
  session.update("UPDATE entregas SET estado = 'retenida' WHERE webhook_id = ?", active.id);
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 "
      "HOUR)",
      active.id);
  BOOST_CHECK_EQUAL(reconcile(session).released, 1U);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'retenida'"), 2);
}

BOOST_AUTO_TEST_CASE(deliveries_held_for_too_long_are_given_up) {
  const auto gone = add_webhook(session, 1), other = add_webhook(session, 2),
             active = add_webhook(session, 3);
  for (int i = 0; i < 1201; ++i) insert_notification(session, 1);
  for (const EntityId entity : {2, 2, 3}) insert_notification(session, entity);
  for (int i = 0; i < 1201; ++i) fan_out(session);
  session.update(
      "UPDATE entregas SET estado = 'retenida', proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 91 DAY"
      " WHERE webhook_id <> ?",
      active.id);
  session.update(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 89 DAY"
      " WHERE webhook_id = ? ORDER BY id LIMIT 1",
      other.id);
  std::uint64_t given_up = 0;
  for (HeldWalk walk; given_up == 0 || walk.ended > 0;) {
    walk = {};
    while (!walk.done) give_up_held(session, 90 * day, walk);
    given_up += walk.ended;
  }
  BOOST_CHECK_EQUAL(given_up, 1202U);
  BOOST_CHECK_EQUAL(
      count("entregas", "estado = 'fallida' AND terminada_en IS NOT NULL AND ultimo_error <> ''"), 1202);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'retenida'"), 1);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'pendiente'"), 1);
}

BOOST_AUTO_TEST_CASE(a_large_backlog_is_held_in_batches) {
  const auto webhook = add_webhook(session, 1);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1, 'evaluacion.cerrada', "
      "'{}' FROM " +
      numbers(1200));
  fan_out(session);
  fan_out(session);
  disable_webhook(session, webhook.id, disabled_by_operator);
  ReconcileWalk walk;
  while (!walk.done) reconcile_some(session, walk);
  BOOST_CHECK_EQUAL(walk.changed.held, 500U);
  BOOST_CHECK_EQUAL(reconcile(session).held, 700U);
}

namespace {

/// Adds `count` held deliveries of the webhook.
void add_held(Session& session, EntityId entity, WebhookId webhook, int count) {
  session.execute("SET @first = (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes)");
  session.execute(
      "INSERT INTO notificaciones_pendientes (id, entidad_id, evento, datos, estado, terminada_en) SELECT "
      "@first + "
      "seq, " +
      to_string(entity) + ", 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3) FROM " +
      numbers(count));
  session.execute(
      "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en) SELECT id, " +
      to_string(webhook) +
      ", 'retenida', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM notificaciones_pendientes WHERE id > @first");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_webhook_with_many_deliveries_to_change_takes_turns_with_the_others) {
  const auto many = add_webhook(session, 1), few = add_webhook(session, 2),
             many_too = add_webhook(session, 3);
  add_held(session, 1, many.id, 1200);
  add_held(session, 2, few.id, 1);
  add_held(session, 3, many_too.id, 1200);
  ReconcileWalk walk;
  const auto waiting = [&](const Webhook& webhook) {
    return count("entregas", "estado = 'retenida' AND webhook_id = " + to_string(webhook.id));
  };
  while (waiting(few) > 0 && !walk.done) reconcile_some(session, walk);
  BOOST_CHECK_EQUAL(waiting(few), 0);
  BOOST_CHECK_GE(waiting(many), 700);
  BOOST_CHECK_GE(waiting(many_too), 700);
  const auto left = static_cast<std::uint64_t>(waiting(many) + waiting(many_too));
  BOOST_CHECK_EQUAL(reconcile(session).released, left);
}

BOOST_AUTO_TEST_CASE(each_of_many_webhooks_has_a_smaller_turn) {
  for (int entity = 1; entity <= 5; ++entity) add_held(session, entity, add_webhook(session, entity).id, 300);
  ReconcileWalk walk;
  while (!walk.done) reconcile_some(session, walk);
  BOOST_CHECK_EQUAL(walk.changed.released, 1500U);
  BOOST_CHECK_EQUAL(next_walk(walk).batch, 100U);
  BOOST_CHECK_EQUAL(next_walk({}).batch, 500U);
}

BOOST_AUTO_TEST_CASE(no_rest_follows_a_walk_that_changed_something) {
  const auto many = add_webhook(session, 1), few = add_webhook(session, 2);
  add_held(session, 1, many.id, 1200);
  const dispatcher::Metrics metrics;
  config::Settings settings;
  settings.retention = retention;
  settings.retention.held = 90 * day;
  dispatcher::Maintenance maintenance(settings, platform::Log(), metrics);
  const auto held = [&](const Webhook& webhook) {
    return count("entregas", "estado = 'retenida' AND webhook_id = " + to_string(webhook.id));
  };
  const auto run_while_held = [&](const Webhook& webhook, int rounds) {
    while (held(webhook) > 0 && rounds-- > 0) maintenance.run(session, platform::monotonic_now(), true);
  };
  run_while_held(many, 100'000);
  add_held(session, 2, few.id, 1);
  run_while_held(few, 2000);
  BOOST_CHECK_EQUAL(held(few), 0);
}

BOOST_AUTO_TEST_CASE(
    deliveries_that_the_database_refuses_to_change_keep_no_other_from_following_their_webhooks) {
  const auto deleted = add_webhook(session, 1), inactive = add_webhook(session, 2),
             enabled = add_webhook(session, 3);
  for (const EntityId entity : {1, 2, 3}) {
    for (int i = 0; i < 3; ++i) insert_notification(session, entity);
  }
  for (int i = 0; i < 3; ++i) fan_out(session);
  session.update("UPDATE entregas SET estado = 'retenida' WHERE webhook_id = ?", enabled.id);
  delete_webhook(session, {1}, deleted.id);
  disable_webhook(session, inactive.id, disabled_by_operator);
  refuse_first_deliveries();
  ReconcileWalk walk;
  BOOST_CHECK_NO_THROW(while (!walk.done) reconcile_some(session, walk));
  BOOST_CHECK_EQUAL(walk.changed.cancelled, 2U);
  BOOST_CHECK_EQUAL(walk.changed.held, 2U);
  BOOST_CHECK_EQUAL(walk.changed.released, 2U);
  const auto first = session.query("SELECT MIN(id) AS id FROM entregas WHERE webhook_id = ?", enabled.id);
  BOOST_TEST(walk.refusal.starts_with("delivery " + std::to_string(first.at(0).integer("id")) + ": "));
}

BOOST_AUTO_TEST_CASE(a_refused_delivery_keeps_no_other_of_a_large_backlog_from_being_released) {
  const auto webhook = add_webhook(session, 1);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1, 'evaluacion.cerrada', "
      "'{}' FROM " +
      numbers(1200));
  for (int i = 0; i < 3; ++i) fan_out(session);
  session.update("UPDATE entregas SET estado = 'retenida' WHERE webhook_id = ?", webhook.id);
  refuse_first_deliveries();
  BOOST_CHECK_EQUAL(reconcile(session).released, 1199U);
}

BOOST_AUTO_TEST_CASE(a_delivery_that_the_database_refuses_to_give_up_keeps_no_other_held) {
  for (const EntityId entity : {1, 2}) {
    add_webhook(session, entity);
    for (int i = 0; i < 2; ++i) insert_notification(session, entity);
  }
  for (int i = 0; i < 2; ++i) fan_out(session);
  session.execute(
      "UPDATE entregas SET estado = 'retenida', proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 91 DAY");
  refuse_first_deliveries();
  HeldWalk walk;
  BOOST_CHECK_NO_THROW(while (!walk.done) give_up_held(session, 90 * day, walk));
  BOOST_CHECK_EQUAL(walk.ended, 2U);
  BOOST_TEST(!walk.refusal.empty());
}

BOOST_AUTO_TEST_CASE(what_is_held_and_is_sent_no_more_ends_cancelada) {
  add_webhook(session, 1);
  for (int i = 0; i < 3; ++i) insert_notification(session, 1);
  for (int i = 0; i < 3; ++i) fan_out(session);
  session.execute(
      "UPDATE entregas SET estado = 'retenida', proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 91 DAY");
  session.execute("UPDATE notificaciones_pendientes SET estado = 'cancelada' ORDER BY id LIMIT 1");
  session.execute(
      "UPDATE notificaciones_pendientes SET caduca_en = UTC_TIMESTAMP(3) ORDER BY id DESC LIMIT 1");
  HeldWalk walk;
  while (!walk.done) give_up_held(session, 90 * day, walk);
  BOOST_CHECK_EQUAL(walk.ended, 3U);
  const auto ended = list_deliveries(session, {});
  BOOST_REQUIRE_EQUAL(ended.size(), 3U);
  BOOST_TEST(ended[0].state == "cancelada");
  BOOST_TEST(ended[0].last_error == "La notificación ha sido anulada");
  BOOST_TEST(ended[1].state == "fallida");
  BOOST_TEST(ended[2].state == "cancelada");
  BOOST_TEST(ended[2].last_error == "La notificación ha caducado");
}

BOOST_AUTO_TEST_CASE(a_locked_gap_keeps_only_the_deliveries_of_its_webhook_from_being_held) {
  if (!session.is_mariadb()) return;
  const auto first = add_webhook(session, 1), second = add_webhook(session, 2);
  insert_notification(session, 2);
  fan_out(session);
  // Below, lock_gap() locks the gap of the index entregas_por_reclamar in which a held delivery of the first
  // webhook belongs. The gap ends at the second webhook's first delivery, which is made held here. The second
  // webhook's second delivery is held later; it belongs after that delivery, outside the gap.
  session.execute("UPDATE entregas SET estado = 'retenida'");
  for (const EntityId entity : {1, 2}) insert_notification(session, entity);
  fan_out(session);
  for (const auto id : {first.id, second.id}) disable_webhook(session, id, disabled_by_operator);
  auto other = lock_gap(database, first.id, "retenida");
  ReconcileWalk walk;
  BOOST_CHECK(waits_for_no_lock(
      session, [&] { BOOST_CHECK_NO_THROW(while (!walk.done) reconcile_some(session, walk)); }));
  BOOST_CHECK_EQUAL(walk.changed.held, 1U);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(reconcile(session).held, 1U);
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
      rows += session.query(std::string("SHOW SESSION STATUS LIKE '") + name + "'").at(0).integer("Value");
    return rows;
  };
  const auto before = rows_read();
  reconcile(session);
  BOOST_CHECK_LT(rows_read() - before, 50 + 3 * 600);  // each SHOW STATUS reads some 600 rows
}

BOOST_AUTO_TEST_SUITE_END()
