// The duties of upkeep: deliveries follow their webhooks, retention, the database's clock going back.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <set>
#include <thread>

#include "database.hpp"
#include "store/clock_watch.hpp"
#include "store/retention.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

constexpr Milliseconds hour{3600000};
constexpr Milliseconds day = 24 * hour;

struct Fixture {
  Database database;
  Session& session = database.session;

  std::int64_t number(std::string_view sql) { return session.query(sql).at(0).integer(0); }
  std::int64_t count(const std::string& table, const std::string& condition = "TRUE") {
    return number("SELECT COUNT(*) FROM " + table + " WHERE " + condition);
  }

  /// `count` finished deliveries of a webhook, one a second, the first of them `age` ago; each with its
  /// notification and an attempt.
  void add_finished(WebhookId webhook, unsigned count, Milliseconds age,
                    const std::string& state = "entregada") {
    session.execute("SET @first = (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes)");
    const std::string when = "UTC_TIMESTAMP(3) - INTERVAL " + std::to_string(age.count()) + "000 MICROSECOND";
    session.execute(
        "INSERT INTO notificaciones_pendientes (id, entidad_id, evento, datos, estado, terminada_en)"
        " SELECT @first + seq, 1, 'evaluacion.cerrada', '{}', 'procesada', " +
        when + " + INTERVAL seq SECOND FROM seq_1_to_" + std::to_string(count));
    session.execute(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, "
        "terminada_en)"
        " SELECT id, " +
        std::to_string(webhook) + ", '" + state +
        "', 1, terminada_en, terminada_en, terminada_en FROM notificaciones_pendientes WHERE id > @first "
        "ORDER BY id");
    session.execute(
        "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http)"
        " SELECT id, 1, creada_en, 5, 200 FROM entregas WHERE notificacion_id > @first");
  }

  /// Pending deliveries of a webhook, due after so long, that have failed so many times.
  void add_pending(WebhookId webhook, unsigned count, Milliseconds wait, unsigned failures) {
    for (unsigned i = 0; i < count; ++i) insert_notification(session, 1);
    expand(session);
    session.update(
        "UPDATE entregas SET paso = ?, proximo_intento = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND WHERE "
        "webhook_id = ?"
        " AND estado = 'pendiente' ORDER BY id DESC LIMIT ?",
        failures, std::int64_t{wait.count()} * 1000, webhook, count);
  }

  /// This session's clock; others keep theirs.
  void set_clock(Milliseconds ahead) {
    session.execute("SET @@timestamp = DEFAULT");
    session.execute("SET @@timestamp = UNIX_TIMESTAMP(SYSDATE(3)) + " + std::to_string(ahead.count() / 1000));
  }
};

platform::DeliverySettings delivery_settings() {
  platform::DeliverySettings settings;
  settings.lease = Milliseconds(60000);
  settings.retry_schedule = {Milliseconds(5000), Milliseconds(300000), Milliseconds(1800000)};
  settings.retry_jitter = 0.2;
  return settings;
}

ClockMending mend(Session& session) {
  ClockMending mending;
  while (mending.stage != ClockMending::Stage::done) mend_clock(session, delivery_settings(), mending);
  return mending;
}

struct Purged {
  std::uint64_t rows = 0;
  unsigned windows = 0;
};
Purged purge(Session& session, const platform::RetentionSettings& retention, PurgeWalk& walk,
             unsigned window = 512) {
  Purged result;
  for (walk.restart(); !walk.done(); ++result.windows)
    result.rows += purge_window(session, retention, walk, window);
  return result;
}
Purged sweep(Session& session, const platform::RetentionSettings& retention) {
  PurgeWalk walk{true};
  return purge(session, retention, walk);
}

constexpr platform::RetentionSettings retention{30 * day, 90 * day, 60 * day};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(maintenance, Fixture)

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
      "'{}' FROM"
      " seq_1_to_1200");
  expand(session);
  expand(session);
  disable_webhook(session, webhook.id, disabled_by_operator);
  ReconcileWalk walk;
  reconcile_some(session, walk);
  BOOST_CHECK_EQUAL(walk.changed.held, 500U);
  BOOST_CHECK_EQUAL(reconcile(session).held, 700U);
}

BOOST_AUTO_TEST_CASE(with_nothing_to_do_a_reconciliation_reads_no_webhooks) {
  session.execute("INSERT INTO entidades (id, nombre) SELECT seq, 'e' FROM seq_1_to_2000");
  session.execute(
      "INSERT INTO webhooks (entidad_id, plaza, url, eventos) SELECT e.seq, p.seq, "
      "'https://receptor.example.org/',"
      " 'evaluacion.cerrada' FROM seq_1_to_2000 e, seq_1_to_5 p");
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

// Retention.

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
      " (1, 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL 31 DAY)");  // to no webhook
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 3U + 3U + 1U + 1U);
  BOOST_CHECK_EQUAL(count("entregas"), 2);
  BOOST_CHECK_EQUAL(count("intentos_entrega"), 2);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 3);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes", "estado = 'rechazada'"), 1);
}

BOOST_AUTO_TEST_CASE(deleted_webhooks_go_once_nothing_refers_to_them) {
  const auto old = add_webhook(session, 1), used = add_webhook(session, 2), recent = add_webhook(session, 3);
  add_webhook(session, 4);
  for (const auto& webhook : {old, used, recent}) delete_webhook(session, webhook.entity, webhook.id);
  add_finished(used.id, 1, 29 * day);
  session.execute("INSERT INTO webhook_ejecuciones (webhook_id) SELECT id FROM webhooks");
  session.update("UPDATE webhooks SET fecha_baja = UTC_TIMESTAMP(3) - INTERVAL 31 DAY WHERE id IN (?, ?)",
                 old.id, used.id);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 1U);
  BOOST_CHECK_EQUAL(count("webhooks"), 3);
  BOOST_CHECK_EQUAL(count("webhook_ejecuciones"), 3);
}

BOOST_AUTO_TEST_CASE(the_follower_reads_up_to_what_is_too_young_and_stays_there) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 1500, 40 * day);
  add_finished(webhook, 20000, day);
  PurgeWalk follower;
  const auto first = purge(session, retention, follower, 500);
  BOOST_CHECK_EQUAL(first.rows, 3000U);  // deliveries and notifications
  BOOST_CHECK_LE(first.windows, 6U);     // not the 40 of what is young
  const auto again = purge(session, retention, follower, 500);
  BOOST_CHECK_EQUAL(again.rows, 0U);
  BOOST_CHECK_LE(again.windows, 2U);
  // What falls due goes at the next turn, without reading anything again.
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

BOOST_AUTO_TEST_CASE(a_straggler_is_left_by_the_follower_and_taken_by_the_sweep) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 600, 40 * day);
  add_finished(webhook, 600, day);
  session.execute(
      "UPDATE entregas SET terminada_en = UTC_TIMESTAMP(3) - INTERVAL 1 DAY ORDER BY id LIMIT 1");  // retried
                                                                                                    // for
                                                                                                    // weeks
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
      "'{}' FROM"
      " seq_1_to_600");
  add_finished(add_webhook(session, 1).id, 600, 40 * day);
  session.execute("DELETE FROM intentos_entrega");
  session.execute("DELETE FROM entregas");
  PurgeWalk follower;
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 0U);
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 600U);
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_expired_rows_go_in_bounded_batches) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 100000, 40 * day);
  PurgeWalk follower;
  std::uint64_t total = 0;
  while (!follower.done()) {
    const auto removed = purge_window(session, retention, follower, 512);
    BOOST_CHECK_LE(removed, 2 * 512U);  // and as many attempts
    total += removed;
  }
  BOOST_CHECK_EQUAL(total, 200000U);
  BOOST_CHECK_EQUAL(count("entregas") + count("intentos_entrega") + count("notificaciones_pendientes"), 0);
}

BOOST_AUTO_TEST_CASE(a_snapshot_held_open_does_not_make_the_follower_slower) {
  const auto webhook = add_webhook(session, 1).id;
  add_finished(webhook, 20000, 40 * day);
  Session backup = database.connect();
  backup.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  backup.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  PurgeWalk follower;
  const auto begin = std::chrono::steady_clock::now();
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 40000U);
  const auto half = std::chrono::steady_clock::now();
  add_finished(webhook, 20000, 40 * day);  // behind the 20,000 that the snapshot keeps
  const auto added = std::chrono::steady_clock::now();
  BOOST_CHECK_EQUAL(purge(session, retention, follower).rows, 40000U);
  BOOST_CHECK_LT((std::chrono::steady_clock::now() - added) / (half - begin), 3);
  BOOST_CHECK_EQUAL(backup.query("SELECT COUNT(*) FROM entregas").at(0).integer(0), 20000);
}

BOOST_AUTO_TEST_CASE(what_is_being_replayed_keeps_its_evidence) {
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
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 4U);  // waits for nobody
  operator_session.execute("COMMIT");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 0U);
  BOOST_CHECK_EQUAL(count("intentos_entrega", "entrega_id = " + std::to_string(replayed)), 1);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 1);
}

/// A purge held half-way through its transaction: it has removed attempts and waits for the last one.
struct PurgeHalfWay {
  explicit PurgeHalfWay(Fixture& fixture)
      : holder(fixture.database.connect()), purging(fixture.database.connect()) {
    holder.execute("START TRANSACTION");
    holder.query(
        "SELECT * FROM intentos_entrega WHERE entrega_id = (SELECT MAX(id) FROM entregas) FOR UPDATE");
    const auto connection = purging.query("SELECT CONNECTION_ID()").at(0).integer(0);
    thread = std::jthread([this] {
      PurgeWalk walk{true};
      try {
        removed = purge(purging, retention, walk).rows;
      } catch (const Unavailable&) {
        killed = true;
      }
    });
    const std::string waiting =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'DELETE i %' AND id = ";
    while (holder.query(waiting + std::to_string(connection)).at(0).integer(0) == 0)
      std::this_thread::yield();
    id = connection;
  }
  void finish() {
    holder.execute("ROLLBACK");
    thread.join();
  }
  Session holder, purging;
  std::int64_t id = 0;
  std::uint64_t removed = 0;
  bool killed = false;
  std::jthread thread;
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
  BOOST_CHECK_NO_THROW(expand(session));  // nor new deliveries of the same webhook
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

// The database's clock.

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_is_noticed_until_it_is_mended) {
  BOOST_CHECK_EQUAL(watch_clock(session).count(), 0);
  set_clock(day);
  BOOST_CHECK_EQUAL(watch_clock(session).count(), 0);
  set_clock(Milliseconds(0));
  for (int i = 0; i < 2; ++i) {  // a restart does not forget it
    const auto behind = watch_clock(session);
    BOOST_CHECK(behind > day - Milliseconds(60000) && behind <= day);
  }
  mend(session);
  BOOST_CHECK_EQUAL(watch_clock(session).count(), 0);
}

BOOST_AUTO_TEST_CASE(clocks_of_a_cluster_that_differ_by_seconds_are_no_jump) {
  for (const int seconds : {0, 60, 55, 120, 115, 60}) {
    set_clock(Milliseconds(seconds * 1000));
    BOOST_CHECK_EQUAL(watch_clock(session).count() == 0,
                      seconds != 60 || number("SELECT hora <= UTC_TIMESTAMP(3) FROM reloj_visto") == 1);
  }
}

BOOST_AUTO_TEST_CASE(the_time_is_written_rarely) {
  watch_clock(session);
  const auto noted = number("SELECT " STORE_EPOCH_MS("hora") " FROM reloj_visto");
  set_clock(Milliseconds(5000));
  watch_clock(session);
  BOOST_CHECK_EQUAL(number("SELECT " STORE_EPOCH_MS("hora") " FROM reloj_visto"), noted);
  set_clock(Milliseconds(25000));
  watch_clock(session);
  BOOST_CHECK_GT(number("SELECT " STORE_EPOCH_MS("hora") " FROM reloj_visto"), noted);
}

BOOST_AUTO_TEST_CASE(what_a_clock_left_too_far_in_the_future_is_cut_down) {
  const auto webhook = add_webhook(session, 1).id;
  add_pending(webhook, 3, day, 0);                          // new ones
  add_pending(webhook, 3, day + Milliseconds(5000), 1);     // first retry
  add_pending(webhook, 3, day + Milliseconds(1800000), 7);  // beyond the schedule's end: as its last
  add_pending(webhook, 3, Milliseconds(200000), 2);         // plausible
  insert_notification(session, 1);
  expand(session, BornState::leased, {10, day});
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 "
      "DAY)",
      webhook);
  const auto mended = mend(session);
  BOOST_CHECK_EQUAL(mended.leases, 1U);
  BOOST_CHECK_EQUAL(mended.rests, 1U);
  BOOST_CHECK_EQUAL(mended.rescheduled, 9U);
  const auto longest = [&](int step) {
    return number(
        "SELECT MAX(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), proximo_intento)) FROM entregas WHERE paso = " +
        std::to_string(step) + " AND estado = 'pendiente'");
  };
  BOOST_CHECK_LE(longest(0), 0);
  BOOST_CHECK_LE(longest(1), 6);
  BOOST_CHECK_LE(longest(7), 2160);
  BOOST_CHECK(longest(2) >= 150 && longest(2) <= 200);
  BOOST_CHECK_LE(number("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), MAX(arriendo_hasta)) FROM entregas"),
                 60);
  BOOST_CHECK_LE(
      number("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), descansa_hasta) FROM webhook_ejecuciones"), 5);
  const auto again = mend(session);
  BOOST_CHECK_EQUAL(again.leases + again.rests + again.rescheduled, 0U);
}

BOOST_AUTO_TEST_CASE(what_was_in_flight_when_the_clock_went_back_is_due_when_its_lease_ends) {
  add_webhook(session, 1);
  for (int i = 0; i < 2; ++i) insert_notification(session, 1);
  set_clock(day);
  const auto born = expand(session, BornState::leased);
  set_clock(Milliseconds(0));
  LeasedDelivery not_started;
  not_started.id = born.at(0).id;
  not_started.lease = 77;
  release_leases(session, {not_started});
  mend(session);
  set_clock(Milliseconds(61000));
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10), 1U);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'pendiente' AND proximo_intento <= UTC_TIMESTAMP(3)"), 2);
}

BOOST_AUTO_TEST_CASE(a_large_backlog_is_mended_in_batches_and_a_break_is_made_up_for) {
  for (EntityId entity = 1; entity <= 3; ++entity) add_webhook(session, entity);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1 + seq % 3, "
      "'evaluacion.cerrada', '{}'"
      " FROM seq_1_to_3600");
  for (int i = 0; i < 4; ++i) expand(session);
  session.execute(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 DAY + INTERVAL id MOD 7 SECOND "
      "WHERE id % 2");
  ClockMending cut_short;
  while (cut_short.rescheduled == 0) mend_clock(session, delivery_settings(), cut_short);
  BOOST_CHECK_LE(cut_short.rescheduled, 500U);
  BOOST_CHECK_EQUAL(cut_short.rescheduled + mend(session).rescheduled, 1800U);
  BOOST_CHECK_EQUAL(count("entregas", "proximo_intento > UTC_TIMESTAMP(3)"), 0);
}

// What each duty costs.

/// 50,000 deliveries of 1,000 webhooks, most of them done, some of each other kind.
void fill(Session& session) {
  session.execute("INSERT INTO entidades (id, nombre) SELECT seq, 'e' FROM seq_1_to_1000");
  session.execute(
      "INSERT INTO webhooks (entidad_id, plaza, url, eventos) SELECT seq, 1, 'https://receptor.example.org/',"
      " 'evaluacion.cerrada' FROM seq_1_to_1000");
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en) SELECT 1 + "
      "seq % 1000,"
      " 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL 50000 - seq MINUTE FROM "
      "seq_1_to_50000");
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
    for (const auto& row : session.query("EXPLAIN " + statement)) {
      if (row.null(2) || row.null(3)) continue;  // no table
      const auto& table = row.text(2);
      tables.insert(table);
      const bool scanned = row.text(3) == "ALL" || row.text(3) == "index";
      const bool small = table == "j" || table.starts_with("<") || table == "webhook_ejecuciones";
      BOOST_CHECK_MESSAGE(!scanned || small, "reads all of " << table << ": " << statement.substr(0, 300));
      BOOST_CHECK_MESSAGE(small || row.null(9) || row.text(9).find("filesort") == std::string::npos,
                          "sorts " << table << ": " << statement.substr(0, 300));
    }
  }
  for (const auto* table : {"e", "d", "i", "n", "w", "x", "entregas"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_SUITE_END()
