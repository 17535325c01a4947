// Retention: what it removes, what it keeps, what it reads and whom it delays. Two walks remove rows. The
// follower stops at the first row that is younger than retention.delivered, and goes on from there in its
// next run. The sweep looks from the first row for what the follower has left.
#include <boost/test/unit_test.hpp>

#include "lib/store/audit/audit.hpp"
#include "lib/store/replays/replay_feed.hpp"
#include "lib/store/webhooks/idempotency.hpp"
#include "tests/store/maintenance_support.hpp"
#include "tests/store/threads.hpp"
#include "tests/wait.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(retention_walks, MaintenanceFixture)

BOOST_AUTO_TEST_CASE(each_kind_goes_after_its_own_retention) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 1, 91 * day, "fallida");
  add_finished(webhook, 1, 89 * day, "fallida");
  add_finished(webhook, 1, 31 * day, "cancelada");
  add_finished(webhook, 1, 31 * day);
  add_finished(webhook, 1, 29 * day);
  for (const int age : {59, 61}) {
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, error, terminada_en) "
        "VALUES"
        " (1, 'evaluacion.cerrada', '{}', 'rechazada', 'datos: mal', UTC_TIMESTAMP(3) - INTERVAL ? DAY)",
        age);
  }
  session.update(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en) VALUES"
      " (1, 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL 31 DAY)");  // no delivery
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 3U + 3U + 1U + 1U);
  BOOST_CHECK_EQUAL(count("entregas"), 2);
  BOOST_CHECK_EQUAL(count("intentos_entrega"), 2);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 3);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes", "estado = 'rechazada'"), 1);
}

BOOST_AUTO_TEST_CASE(tests_have_a_retention_of_their_own_whatever_became_of_them) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 2000, 20 * day);
  for (const std::string state : {"entregada", "fallida", "retenida"}) {
    for (const int hours : {49, 47}) {
      const auto when = "UTC_TIMESTAMP(3) - INTERVAL " + std::to_string(hours) + " HOUR";
      session.update(
          "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, origen, terminada_en)"
          " VALUES (1, 'incidencia.cerrada', '{}', 'procesada', 'prueba', " +
          when + ")");
      session.update(
          "INSERT INTO entregas (notificacion_id, webhook_id, evento, prueba, estado, proximo_intento, "
          "creada_en, "
          "terminada_en)"
          " SELECT MAX(id), ?, 'incidencia.cerrada', TRUE, ?, " +
              when + ", " + when + ", IF(? = 'retenida', NULL, " + when + ") FROM notificaciones_pendientes",
          webhook, state, state);
      session.update(
          "INSERT INTO pruebas_por_borrar (notificacion_id, creada_en)"
          " SELECT MAX(id), " +
          when + " FROM notificaciones_pendientes");
    }
  }
  PurgeWalk follower;
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows,
                    0U);  // the follower waits at rows younger than retention.delivered
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 2U + 2U);
  BOOST_CHECK_EQUAL(count("entregas"), 2000 + 4);
  BOOST_CHECK_EQUAL(count("pruebas_por_borrar"), 4);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 0U);
  session.update(
      "UPDATE entregas SET estado = 'fallida', terminada_en = creada_en WHERE estado = 'retenida'");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 2U);  // the delivery and its notification
  auto longer = retention;
  longer.delivered = hour;
  longer.tests = 3 * day;
  sweep(session, longer);
  BOOST_CHECK_EQUAL(count("entregas"), 3);  // only deliveries of test notifications are left
}

/// Two webhooks of an entity. add() adds `count` notifications, each with two deliveries. The delivery to
/// `one` arrived `delivered` ago. The delivery to `other` is in `state`; if finished, it ended `age` ago.
struct TwoWebhooks : MaintenanceFixture {
  WebhookId one = add_webhook(session, 1).id, other = add_webhook(session, 1).id;
  void add(unsigned count, Milliseconds delivered, const std::string& state, Milliseconds age) {
    add_finished(one, count, delivered);
    const auto open = state == "pendiente" || state == "retenida";
    session.update(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, "
        "terminada_en) SELECT notificacion_id, ?, ?, 1, creada_en, creada_en, IF(?, NULL, UTC_TIMESTAMP(3) - "
        "INTERVAL ? MICROSECOND) FROM entregas WHERE webhook_id = ? ORDER BY id DESC LIMIT ?",
        other, state, open, age.count() * 1000, one, count);
  }
  std::int64_t left() { return count("entregas"); }
  Row seen(const std::string& where = "TRUE") {
    return session.query("SELECT webhooks, entregadas, fallidas FROM notificaciones_resultado WHERE " + where)
        .at(0);
  }
};

BOOST_FIXTURE_TEST_CASE(deliveries_of_a_notification_go_together, TwoWebhooks) {
  add(1, 31 * day, "fallida", 31 * day);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 0U);
  const auto row = seen();
  BOOST_CHECK(
      (row.integer("webhooks") == 2 && row.integer("entregadas") == 1 && row.integer("fallidas") == 1));
  BOOST_CHECK_EQUAL(count("intentos_entrega"), 1);
  session.execute(
      "UPDATE entregas SET terminada_en = UTC_TIMESTAMP(3) - INTERVAL 91 DAY WHERE estado = 'fallida'");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 3U);
  BOOST_CHECK_EQUAL(left() + count("intentos_entrega") + count("notificaciones_pendientes"), 0);
}

BOOST_FIXTURE_TEST_CASE(an_unexpired_delivery_keeps_the_others_of_its_notification, TwoWebhooks) {
  add(1, 40 * day, "pendiente", {});
  add(1, 40 * day, "retenida", {});
  add(1, 40 * day, "cancelada", 29 * day);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 0U);
  session.execute("UPDATE entregas SET terminada_en = creada_en WHERE estado = 'cancelada'");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 3U);
  BOOST_CHECK_EQUAL(left(), 4);
}

BOOST_FIXTURE_TEST_CASE(a_locked_row_keeps_the_others_of_its_notification, TwoWebhooks) {
  add(3, 40 * day, "entregada", 40 * day);
  Session holder = database.connect();
  holder.execute("START TRANSACTION");
  holder.query("SELECT id FROM entregas ORDER BY notificacion_id DESC LIMIT 1 FOR UPDATE");
  holder.query("SELECT id FROM notificaciones_pendientes ORDER BY id LIMIT 1 FOR UPDATE");
  session.execute("SET SESSION innodb_lock_wait_timeout = 1");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 3U);
  BOOST_CHECK_EQUAL(count("notificaciones_resultado", "webhooks = 2"), 2);
  holder.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 6U);
}

// If the notification stayed longer, notificaciones_resultado would say for weeks that it went to no webhook.
BOOST_AUTO_TEST_CASE(a_notification_goes_with_its_deliveries) {
  add_finished(add_webhook(session, 1).id, 1, 8 * day, "fallida");
  BOOST_CHECK_EQUAL(sweep(session, {30 * day, 7 * day, 60 * day, {}, {}}).rows, 2U);
}

BOOST_FIXTURE_TEST_CASE(the_follower_reads_deliveries_kept_for_another_once, TwoWebhooks) {
  add(3000, 40 * day, "fallida", 39 * day);
  add_finished(one, 600, 35 * day);
  session.query("ANALYZE TABLE entregas, notificaciones_pendientes");
  PurgeWalk follower;
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 1200U);
  const auto before = rows_read(session);
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 0U);
  BOOST_CHECK_LT(rows_read(session) - before, 50);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 0U);
  BOOST_CHECK_LT(rows_read(session) - before, 6000 * 8);  // fewer than 8 rows for each kept delivery
}

BOOST_AUTO_TEST_CASE(deleted_webhooks_go_once_nothing_refers_to_them) {
  const auto old = add_webhook(session, 1), used = add_webhook(session, 2), recent = add_webhook(session, 3);
  add_webhook(session, 4);
  for (const auto& webhook : {old, used, recent}) delete_webhook(session, {webhook.entity}, webhook.id);
  add_finished(used.id, 1, 29 * day);
  session.execute("INSERT INTO webhook_ejecuciones (webhook_id) SELECT id FROM webhooks");
  session.execute(
      "INSERT INTO diagnosticos (webhook_id, entidad_id, entidad_nombre) SELECT id, 1, 'e' FROM webhooks");
  session.update("UPDATE webhooks SET fecha_baja = UTC_TIMESTAMP(3) - INTERVAL 31 DAY WHERE id IN (?, ?)",
                 old.id, used.id);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 1U);
  BOOST_CHECK_EQUAL(count("webhooks"), 3);
  BOOST_CHECK_EQUAL(count("webhook_ejecuciones"), 3);
  BOOST_CHECK_EQUAL(count("diagnosticos"), 3);
}

BOOST_AUTO_TEST_CASE(a_locked_row_keeps_only_its_own_deleted_webhook) {
  std::vector<WebhookId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(add_webhook(session, 1).id);
    delete_webhook(session, {1}, ids.back());
  }
  session.execute("INSERT INTO webhook_ejecuciones (webhook_id) SELECT id FROM webhooks");
  session.execute(
      "INSERT INTO diagnosticos (webhook_id, entidad_id, entidad_nombre) SELECT id, 1, 'e' FROM webhooks");
  session.execute("UPDATE webhooks SET fecha_baja = UTC_TIMESTAMP(3) - INTERVAL 31 DAY");
  Session holder = database.connect();
  holder.execute("START TRANSACTION");
  holder.query("SELECT * FROM diagnosticos WHERE webhook_id = ? FOR UPDATE", ids[0]);
  holder.query("SELECT * FROM webhook_ejecuciones WHERE webhook_id = ? FOR UPDATE", ids[1]);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 1U);
  BOOST_CHECK_EQUAL(count("webhooks"), 2);
  BOOST_CHECK_EQUAL(count("diagnosticos"), 2);
  holder.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 2U);
  BOOST_CHECK_EQUAL(count("diagnosticos") + count("webhook_ejecuciones"), 0);
}

BOOST_AUTO_TEST_CASE(the_follower_reads_up_to_what_is_too_young_and_stays_there) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 1500, 40 * day);
  add_finished(webhook, 20000, day);
  PurgeWalk follower;
  const auto first = purge(session, retention, follower, 500);
  BOOST_CHECK_EQUAL(first.rows, 3000U);  // deliveries and notifications
  BOOST_CHECK_LE(first.windows, 6U);     // the young deliveries alone would be 40 windows
  const auto again = purge(session, retention, follower, 500);
  BOOST_CHECK_EQUAL(again.rows, 0U);
  BOOST_CHECK_LE(again.windows, 2U);
  // The next run goes on where the last run stopped, and removes the rows that have expired since.
  session.execute(
      "UPDATE entregas SET creada_en = creada_en - INTERVAL 31 DAY, terminada_en = creada_en ORDER BY id "
      "LIMIT 700");
  session.execute(
      "UPDATE notificaciones_pendientes SET terminada_en = terminada_en - INTERVAL 31 DAY ORDER BY id LIMIT "
      "700");
  const auto later = purge(session, retention, follower, 500);
  BOOST_CHECK_EQUAL(later.rows, 1400U);
  BOOST_CHECK_LE(later.windows, 4U);
}

BOOST_AUTO_TEST_CASE(a_purge_that_was_refused_goes_on_once_it_is_not) {
  const auto webhook = add_webhook(session, 1);
  add_finished(webhook.id, 40, 40 * day);
  delete_webhook(session, {webhook.entity}, webhook.id);
  PurgeWalk walk{true};
  session.execute("CREATE TRIGGER refuses BEFORE DELETE ON entregas FOR EACH ROW SIGNAL SQLSTATE '45000'");
  for (int turn = 0; turn < 5; ++turn)
    BOOST_CHECK_THROW(for (int window = 0; window < 9; ++window) purge_window(session, retention, walk, 50),
                      DatabaseError);
  session.execute("DROP TRIGGER refuses");
  for (int turn = 0; turn < 9; ++turn) purge_window(session, retention, walk, 50);
  BOOST_CHECK_EQUAL(count("entregas"), 0);
}

BOOST_AUTO_TEST_CASE(a_row_that_the_database_refuses_to_remove_keeps_no_other) {
  const auto webhook = add_webhook(session, 1);
  add_finished(webhook.id, 40, 40 * day);
  session.execute(
      "CREATE TRIGGER refuse BEFORE DELETE ON entregas FOR EACH ROW BEGIN IF OLD.notificacion_id = 7"
      " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  PurgeWalk walk{true};
  BOOST_CHECK_EQUAL(purge_window(session, retention, walk, 512), 78U);
  BOOST_CHECK_EQUAL(walk.refusal.substr(0, walk.refusal.find(':')), "the deliveries of notification 7");
  BOOST_CHECK_EQUAL(count("intentos_entrega"), 1);
  BOOST_CHECK_EQUAL(count("entregas", "notificacion_id = 7"), 1);
  while (!walk.done()) purge_window(session, retention, walk, 512);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 1);
}

BOOST_AUTO_TEST_CASE(old_rows_of_which_another_session_holds_one_go_without_waiting) {
  session.execute(
      "INSERT INTO auditoria (entidad_id, accion, webhook_id, detalle, ocurrida_en)"
      " SELECT 1, 'alta', 1, '{}', UTC_TIMESTAMP(3) - INTERVAL 20 + seq DAY FROM " +
      numbers(3));
  session.execute(
      "INSERT INTO claves_idempotencia (entidad_id, clave, webhook_id, cuerpo_clave, cuerpo_huella, "
      "respuesta, creada_en)"
      " SELECT 1, seq, 1, 'k1', 'h', '{}', UTC_TIMESTAMP(3) - INTERVAL 20 + seq DAY FROM " +
      numbers(3));
  session.execute(
      "INSERT INTO reenvios (entidad_id, webhook_id, candidatas, tope, estado, terminado_en)"
      " SELECT 1, 1, 0, 0, 'terminado', UTC_TIMESTAMP(3) - INTERVAL 20 + seq DAY FROM " +
      numbers(3));
  BOOST_TEST(forgets_beside("SELECT id FROM auditoria WHERE id = 3",
                            [&] { BOOST_CHECK_EQUAL(forget_old_audit(session, 9 * day), 2U); }));
  BOOST_TEST(forgets_beside(
      "SELECT clave FROM claves_idempotencia FORCE INDEX (PRIMARY) WHERE entidad_id = 1 AND clave = '3'",
      [&] { BOOST_CHECK_EQUAL(forget_old_requests(session), 2U); }));
  BOOST_TEST(forgets_beside("SELECT id FROM reenvios WHERE id = 3", [&] {
    for (int i = 0; i < 9; ++i) forget_old_replay(session, 9 * day);
    BOOST_CHECK_EQUAL(count("reenvios"), 1);
  }));
}

// On MariaDB the evaluation system, which may only read these rows, can lock them with SELECT … FOR UPDATE.
BOOST_AUTO_TEST_CASE(a_locked_test_delays_no_sweep) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 3, 3 * day);
  session.execute("UPDATE notificaciones_pendientes SET origen = 'prueba'");
  session.execute("UPDATE entregas SET prueba = TRUE");
  session.execute("INSERT INTO pruebas_por_borrar SELECT id, terminada_en FROM notificaciones_pendientes");
  BOOST_TEST(forgets_beside("SELECT id FROM notificaciones_pendientes WHERE id = 2",
                            [&] { BOOST_CHECK_EQUAL(sweep(session, retention).rows, 4U); }));
  BOOST_CHECK_EQUAL(count("pruebas_por_borrar"), 1);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 2U);
  BOOST_CHECK_EQUAL(count("pruebas_por_borrar"), 0);
}

// An INSERT that fails because another row has its `clave` keeps a lock, but only on the index entry of that
// `clave`.
BOOST_AUTO_TEST_CASE(a_notification_that_is_written_again_delays_no_purge) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 3, 40 * day);
  session.execute("UPDATE notificaciones_pendientes SET clave = CONCAT('k', id)");
  Session evaluation = database.connect();
  evaluation.execute("START TRANSACTION");
  BOOST_CHECK_THROW(
      evaluation.update("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES"
                        " (1, 'evaluacion.cerrada', '{}', 'k2')"),
      DuplicateKey);
  if (session.is_mariadb()) {  // on MySQL the sweep waits for this lock
    BOOST_CHECK(waits_for_no_lock(session, [&] { BOOST_CHECK_EQUAL(sweep(session, retention).rows, 4U); }));
  }
  evaluation.execute("ROLLBACK");
  sweep(session, retention);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 0);
}

BOOST_AUTO_TEST_CASE(a_straggler_is_left_by_the_follower_and_taken_by_the_sweep) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 600, 40 * day);
  add_finished(webhook, 600, day);
  // The first delivery's last retry ended late; the second delivery is held.
  session.execute("UPDATE entregas SET terminada_en = UTC_TIMESTAMP(3) - INTERVAL 1 DAY ORDER BY id LIMIT 1");
  session.execute("UPDATE entregas SET estado = 'retenida', terminada_en = NULL WHERE id = 2");
  PurgeWalk follower;
  purge(session, retention, follower);
  BOOST_CHECK_EQUAL(count("entregas"), 602);
  session.execute(
      "UPDATE entregas SET terminada_en = UTC_TIMESTAMP(3) - INTERVAL 31 DAY ORDER BY id LIMIT 1");
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 0U);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 2U);
  BOOST_CHECK_EQUAL(count("entregas"), 601);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 601);
}

BOOST_AUTO_TEST_CASE(rows_of_a_clock_that_was_years_ahead_stop_no_walk) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 600, -3660 * day);
  add_finished(webhook, 600, 40 * day);
  PurgeWalk follower;
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 1200U);
}

BOOST_AUTO_TEST_CASE(pending_notifications_hold_the_follower_and_not_the_sweep) {
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1, 'evaluacion.cerrada', "
      "'{}' FROM " +
      numbers(600));
  add_finished(add_webhook(session, 1).id, 600, 40 * day);
  session.execute("DELETE FROM intentos_entrega");
  session.execute("DELETE FROM entregas");
  PurgeWalk follower;
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 0U);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 600U);
}

BOOST_AUTO_TEST_CASE(what_waits_for_next_year_holds_no_follower) {
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, aplazada_hasta)"
      " SELECT 1, 'evaluacion.cerrada', '{}', UTC_TIMESTAMP(3) - INTERVAL 40 DAY,"
      " UTC_TIMESTAMP(3) + INTERVAL 300 DAY FROM " +
      numbers(600));
  add_finished(add_webhook(session, 1).id, 600, 40 * day);
  session.execute("DELETE FROM intentos_entrega");
  session.execute("DELETE FROM entregas");
  PurgeWalk follower;
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 600U);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes", "aplazada_hasta IS NOT NULL"), 600);
}

// The purge walks through the webhooks in the order of their deletion, not of their ids. Here many webhooks
// were deleted at the same time.
BOOST_AUTO_TEST_CASE(deleted_webhooks_past_their_retention_are_looked_at_once_and_others_never) {
  const auto kept = add_webhook(session, 1).id;
  add_finished(kept, 1, 80 * day, "fallida");  // failed deliveries are kept longer than deleted webhooks
  session.update(
      "INSERT INTO webhooks (entidad_id, plaza, fecha_baja, url, eventos)"
      " SELECT 1, NULL, UTC_TIMESTAMP(3) - INTERVAL IF(seq % 2, 29, 40 + seq % 3) DAY,"
      " 'https://receptor.example.org/', 'evaluacion.cerrada' FROM " +
      numbers(2000));
  session.update(
      "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3) - INTERVAL 41 DAY WHERE id = ?", kept);
  const auto live = add_webhook(session, 1).id;
  const auto before = rows_read(session);
  PurgeWalk walk{true};
  BOOST_TEST(purge(session, retention, walk, 7).rows == 1000U);
  // To remove a webhook, MariaDB 11.8 reads a few more than 16 rows.
  BOOST_TEST(rows_read(session) - before < 1001 * 20);
  BOOST_TEST(count("webhooks", "fecha_baja > UTC_TIMESTAMP(3) - INTERVAL 30 DAY") == 1000);
  BOOST_TEST(count("webhooks", "id IN (" + to_string(kept) + ", " + to_string(live) + ")") == 2);
  const auto removed = rows_read(session);
  BOOST_TEST(sweep(session, retention).rows == 0U);
  BOOST_TEST(rows_read(session) - removed < 50);
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_expired_rows_go_in_bounded_batches) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 100000, 40 * day);
  PurgeWalk follower;
  std::uint64_t total = 0;
  while (!follower.done()) {
    const auto removed = purge_window(session, retention, follower, 512);
    BOOST_CHECK_LE(removed, 2 * 512U);  // attempts are not counted
    total += removed;
  }
  BOOST_CHECK_EQUAL(total, 200000U);
  BOOST_CHECK_EQUAL(count("entregas") + count("intentos_entrega") + count("notificaciones_pendientes"), 0);
}

// An entity can have one delivery replayed thousands of times a day, for months: each replay adds an attempt.
BOOST_AUTO_TEST_CASE(the_attempts_of_a_delivery_go_in_bounded_batches) {
  constexpr int many = 12000;
  constexpr int bound = 5000;
  add_finished(add_webhook(session, 1).id, 30, 40 * day);
  session.execute(
      "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http)"
      " SELECT e.id, 1 + n.seq, e.creada_en, 5, 200 FROM entregas e, " +
      numbers(many, "n") + " WHERE n.seq <= IF(e.id = 7, " + std::to_string(many) + ", 999)");
  session.execute("UPDATE entregas SET intentos = IF(id = 7, 12001, 1000)");
  PurgeWalk follower;
  auto left = count("intentos_entrega");
  for (int windows = 0; !follower.done(); ++windows) {
    BOOST_REQUIRE_LT(windows, 30);
    purge_window(session, retention, follower, 512);
    const auto now = count("intentos_entrega");
    BOOST_CHECK_LE(left - now, bound);
    left = now;
  }
  BOOST_CHECK_EQUAL(left + count("entregas") + count("notificaciones_pendientes"), 0);
}

BOOST_AUTO_TEST_CASE(an_error_in_a_window_does_not_end_the_removal_of_its_many_attempts) {
  constexpr int many = 12000;
  add_finished(add_webhook(session, 1).id, 80, 40 * day);
  session.execute(
      "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http)"
      " SELECT e.id, 1 + n.seq, e.creada_en, 5, 200 FROM entregas e, " +
      numbers(many, "n") + " WHERE e.notificacion_id = 2");
  session.execute("UPDATE entregas SET intentos = 12001 WHERE notificacion_id = 2");
  // The first refusal divides the window; so many follow that it throws, after the second notification's
  // attempts were removed in part.
  session.execute(
      "CREATE TRIGGER refuse BEFORE DELETE ON entregas FOR EACH ROW BEGIN IF OLD.notificacion_id NOT BETWEEN "
      "2 AND 40"
      " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  PurgeWalk follower;
  for (int windows = 0; windows < 10 && !follower.done(); ++windows) {
    try {
      purge_window(session, retention, follower, 512);
    } catch (const Refused&) {
    }
  }
  BOOST_CHECK_EQUAL(count("entregas", "notificacion_id = 2"), 0);
}

BOOST_AUTO_TEST_CASE(a_snapshot_held_open_does_not_make_the_follower_slower) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 20000, 40 * day);
  Session backup = database.connect();
  backup.execute(
      "SET SESSION /*M! idle_transaction_timeout = 0, */ time_zone = '+00:00'");  // a backup has no time-out
  backup.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  backup.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  PurgeWalk follower;
  const auto begin = std::chrono::steady_clock::now();
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 40000U);
  const auto half = std::chrono::steady_clock::now();
  add_finished(webhook, 20000, 40 * day);  // after the 20,000 deliveries that the snapshot keeps
  const auto added = std::chrono::steady_clock::now();
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 40000U);
  BOOST_CHECK_LT((std::chrono::steady_clock::now() - added) / (half - begin), 3);
  BOOST_CHECK_EQUAL(backup.query("SELECT COUNT(*) AS kept FROM entregas").at(0).integer("kept"), 20000);
}

BOOST_AUTO_TEST_CASE(a_delivery_being_replayed_keeps_its_evidence) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 3, 40 * day);
  const auto replayed = number("SELECT MIN(id) FROM entregas");
  Session operator_session = database.connect();
  operator_session.execute("START TRANSACTION");
  operator_session.update(
      "UPDATE entregas SET estado = 'pendiente', terminada_en = NULL, proximo_intento = UTC_TIMESTAMP(3) "
      "WHERE id = ?",
      replayed);
  session.execute("SET SESSION innodb_lock_wait_timeout = 1");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 4U);  // without waiting for a lock
  operator_session.execute("COMMIT");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 0U);
  BOOST_CHECK_EQUAL(count("intentos_entrega", "entrega_id = " + std::to_string(replayed)), 1);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 1);
}

/// A purge stopped within its transaction: it has removed attempts, and waits before it removes deliveries.
struct PurgeHalfWay {
  explicit PurgeHalfWay(MaintenanceFixture& fixture)
      : holder(fixture.database.connect()), purging(fixture.database.connect()) {
    holder.execute(
        "CREATE TRIGGER half_way BEFORE DELETE ON entregas FOR EACH ROW SET @got = GET_LOCK('half_way', 30)");
    holder.query("SELECT GET_LOCK('half_way', 30)");
    const auto connection = purging.query("SELECT CONNECTION_ID() AS id").at(0).integer("id");
    thread.emplace([this] {
      PurgeWalk walk{true};
      try {
        removed = purge(purging, retention, walk).rows;
      } catch (const Unavailable&) {
        killed = true;
      }
    });
    const std::string waiting =
        "SELECT COUNT(*) AS waits FROM information_schema.processlist WHERE state = 'User lock' AND id = ";
    wait::until([&] { return holder.query(waiting + std::to_string(connection)).at(0).integer("waits") > 0; },
                "the purge to wait in the trigger");
    id = connection;
  }
  void finish() {
    holder.query("SELECT RELEASE_LOCK('half_way')");
    thread->join();
  }
  Session holder, purging;
  std::int64_t id = 0;
  std::uint64_t removed = 0;
  bool killed = false;
  std::optional<ThreadedWork> thread;
};

BOOST_AUTO_TEST_CASE(an_insert_is_never_blocked_by_a_purge) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 500, 40 * day);
  session.execute("UPDATE notificaciones_pendientes SET clave = CONCAT('k', id)");
  PurgeHalfWay half_way(*this);
  session.execute("SET SESSION innodb_lock_wait_timeout = 1");
  for (int i = 0; i < 20; ++i) BOOST_CHECK_NO_THROW(insert_notification(session, 1));
  BOOST_CHECK_NO_THROW(
      session.update("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES"
                     " (1, 'evaluacion.cerrada', '{}', 'k0')"));
  BOOST_CHECK_NO_THROW(fan_out(session));  // new deliveries of the same webhook are not blocked, either
  half_way.finish();
  BOOST_CHECK_EQUAL(half_way.removed, 1000U);
}

BOOST_AUTO_TEST_CASE(a_purge_cut_short_has_removed_all_of_a_delivery_or_nothing) {
  add_finished(add_webhook(session, 1).id, 500, 40 * day);
  PurgeHalfWay half_way(*this);
  session.execute("KILL CONNECTION " + std::to_string(half_way.id));
  half_way.finish();
  BOOST_CHECK(half_way.killed);
  for (const auto* table : {"entregas", "intentos_entrega", "notificaciones_pendientes"})
    BOOST_CHECK_EQUAL(count(table), 500);
}

BOOST_AUTO_TEST_SUITE_END()
