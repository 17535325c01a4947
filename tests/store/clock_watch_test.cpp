// Jumps of the database's clock, forward and back.
#include <boost/test/unit_test.hpp>

#include "lib/store/outages/outages.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

/// A dispatcher that watches the database's clock. The test moves that clock and the monotonic one.
struct Watched : MaintenanceFixture {
  std::optional<ClockSight> first;
  platform::MonotonicTime now = platform::monotonic_now();

  Milliseconds behind() { return watch_clock(session, first, now).behind; }
  Milliseconds jumped() { return watch_clock(session, first, now).jumped; }
  /// Moves both clocks on.
  void pass(Milliseconds time) {
    passed += time;
    now += time;
    set_clock(passed);
  }
  void restart() { first.reset(); }
  Milliseconds passed{};
};

constexpr auto an_hour = Milliseconds(std::chrono::hours(1));

}  // namespace

BOOST_FIXTURE_TEST_SUITE(clock_watch, Watched)

BOOST_AUTO_TEST_CASE(a_clock_that_jumps_forward_is_believed_once_it_is_accepted) {
  insert_notification(session, 1);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  pass(40 * day);
  BOOST_CHECK_EQUAL(jumped().count(), 0);  // both clocks went on
  set_clock(140 * day);
  BOOST_CHECK(jumped() > 100 * day - an_hour && jumped() <= 100 * day + an_hour);
  BOOST_CHECK_EQUAL(number("SELECT salto_ms > 0 FROM reloj_visto"), 1);
  std::optional<ClockSight> other;  // another dispatcher, which starts after the jump
  BOOST_CHECK(watch_clock(session, other, now).jumped > 99 * day);
  BOOST_CHECK_EQUAL(queue_status(session).clock_jump_s, jumped() / std::chrono::seconds(1));
  BOOST_CHECK(accept_clock(session) > 99 * day);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  BOOST_CHECK_EQUAL(watch_clock(session, other, now).jumped.count(), 0);
  BOOST_CHECK_EQUAL(accept_clock(session).count(), 0);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  accept_clock(session);
  set_clock(150 * day);  // after the acceptance, before the next look at the clock
  BOOST_CHECK(jumped() > 9 * day);
  set_clock(140 * day);
  mend(session);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  set_clock(150 * day);
  BOOST_CHECK(jumped() > 9 * day);
}

BOOST_AUTO_TEST_CASE(small_steps_add_up) {
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  for (int step = 1; step <= 3; ++step) {
    set_clock(step * an_hour * 3 / 4);
    BOOST_CHECK_EQUAL(jumped().count() == 0, step == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_to_where_it_was_is_believed_again) {
  jumped();
  set_clock(100 * day);
  BOOST_CHECK(jumped() > 99 * day);
  now += 2 * day;
  set_clock(102 * day);
  BOOST_CHECK(jumped() > 99 * day);
  set_clock(52 * day);  // halfway back
  BOOST_CHECK(behind() > 40 * day);
  mend(session);
  BOOST_CHECK(jumped() > 40 * day);
  set_clock(2 * day);
  BOOST_CHECK(behind() > 40 * day);
  mend(session);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
}

BOOST_AUTO_TEST_CASE(a_watch_started_during_a_jump_notes_the_next_jump) {
  insert_notification(session, 1);
  jumped();
  set_clock(100 * day);
  BOOST_CHECK(jumped() > 99 * day);
  restart();
  BOOST_CHECK(jumped() > 99 * day);
  set_clock(Milliseconds(0));
  mend(session);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  set_clock(100 * day);
  BOOST_CHECK(jumped() > 99 * day);
}

BOOST_AUTO_TEST_CASE(a_clock_unseen_for_days_is_doubted_once_notifications_exist) {
  set_clock(4 * day);
  BOOST_CHECK_EQUAL(jumped().count(), 0);  // a new installation
  insert_notification(session, 1);
  set_clock(6 * day);
  restart();
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  set_clock(10 * day);
  restart();
  BOOST_CHECK(jumped() > 3 * day);
  restart();
  BOOST_CHECK(jumped() > 3 * day);
}

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_is_noticed_until_it_is_mended) {
  BOOST_CHECK_EQUAL(behind().count(), 0);
  set_clock(day);
  BOOST_CHECK_EQUAL(behind().count(), 0);
  set_clock(Milliseconds(0));
  for (int i = 0; i < 2; ++i) {  // the second look finds it, too
    const auto by = behind();
    BOOST_CHECK(by > day - Milliseconds(60000) && by <= day);
  }
  mend(session);
  BOOST_CHECK_EQUAL(behind().count(), 0);
}

BOOST_AUTO_TEST_CASE(clocks_of_a_cluster_that_differ_by_seconds_are_no_jump) {
  for (const int seconds : {0, 60, 55, 120, 115, 60}) {
    set_clock(Milliseconds(seconds * 1000));
    BOOST_CHECK_EQUAL(behind().count() == 0,
                      seconds != 60 || number("SELECT hora <= UTC_TIMESTAMP(3) FROM reloj_visto") == 1);
  }
}

BOOST_AUTO_TEST_CASE(the_time_is_written_rarely) {
  const auto noted = [&] {
    return session.query("SELECT CAST(hora AS CHAR) AS hora FROM reloj_visto").at(0).time("hora");
  };
  behind();
  const auto before = noted();
  set_clock(Milliseconds(5000));
  behind();
  BOOST_CHECK(noted() == before);
  set_clock(Milliseconds(25000));
  behind();
  BOOST_CHECK(noted() > before);
}

BOOST_AUTO_TEST_CASE(a_locked_clock_row_is_skipped_without_waiting) {
  const auto before = number("SELECT FLOOR(UNIX_TIMESTAMP(hora)) FROM reloj_visto");
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM reloj_visto FOR UPDATE");
  set_clock(Milliseconds(25000));
  BOOST_CHECK_EQUAL(behind().count(), 0);  // a wait would end in a LockTimeout
  BOOST_CHECK_EQUAL(number("SELECT FLOOR(UNIX_TIMESTAMP(hora)) FROM reloj_visto"), before);
  other.execute("ROLLBACK");
  behind();
  BOOST_CHECK_GT(number("SELECT FLOOR(UNIX_TIMESTAMP(hora)) FROM reloj_visto"), before);
}

BOOST_AUTO_TEST_CASE(times_left_too_far_in_the_future_are_shortened) {
  const auto webhook = add_webhook(session, 1).id;
  add_pending(webhook, 3, day, 0);                          // never attempted
  add_pending(webhook, 3, day + Milliseconds(5000), 1);     // first retry
  add_pending(webhook, 3, day + Milliseconds(1800000), 7);  // beyond the schedule: the last step counts
  add_pending(webhook, 3, Milliseconds(200000), 2);         // plausible
  insert_notification(session, 1);
  fan_out(session, DeliveryState::leased, {10, day});
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta, adelantar_en, fallos, fallos_desde,"
      " fallos_ultimo)"
      " VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, 1,"
      " UTC_TIMESTAMP(3) + INTERVAL 1 DAY, UTC_TIMESTAMP(3) + INTERVAL 1 DAY)",
      webhook);
  session.update("UPDATE entregas SET no_antes = proximo_intento WHERE paso = 1");
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
  BOOST_CHECK_LE(
      number("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), adelantar_en) FROM webhook_ejecuciones"), 900);
  BOOST_CHECK_EQUAL(count("webhook_ejecuciones", "GREATEST(fallos_desde, fallos_ultimo) > UTC_TIMESTAMP(3)"),
                    0);
  BOOST_CHECK_LE(number("SELECT MAX(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), no_antes)) FROM entregas"), 6);
  const auto again = mend(session);
  BOOST_CHECK_EQUAL(again.leases + again.rests + again.rescheduled, 0U);
}

BOOST_AUTO_TEST_CASE(a_clock_setback_delays_deliveries_by_a_lease_at_most) {
  add_webhook(session, 1);
  for (int i = 0; i < 2; ++i) insert_notification(session, 1);
  set_clock(day);
  const auto created = fan_out(session, DeliveryState::leased);
  set_clock(Milliseconds(0));
  LeasedDelivery not_started;
  not_started.id = created.at(0).id;
  not_started.lease = 77;
  release_leases(session, {not_started});
  mend(session);
  set_clock(Milliseconds(61000));
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  BOOST_CHECK_EQUAL(count("entregas", "estado = 'pendiente' AND proximo_intento <= UTC_TIMESTAMP(3)"), 2);
}

BOOST_AUTO_TEST_CASE(deliveries_that_the_database_refuses_to_change_keep_no_other_late) {
  add_webhook(session, 1);
  set_clock(day);
  for (const auto state : {DeliveryState::leased, DeliveryState::pending}) {
    for (int i = 0; i < 2; ++i) insert_notification(session, 1);
    fan_out(session, state);
  }
  session.execute(
      "CREATE TRIGGER refuse BEFORE UPDATE ON entregas FOR EACH ROW BEGIN IF NEW.id IN (1, 3)"
      " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  set_clock(Milliseconds(0));
  const auto mended = mend(session);
  BOOST_CHECK_EQUAL(mended.leases, 1U);
  BOOST_CHECK_EQUAL(mended.rescheduled, 1U);
  BOOST_CHECK_EQUAL(count("entregas", "arriendo_hasta < UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE"), 1);
  BOOST_CHECK_EQUAL(count("entregas", "espera = 'pendiente' AND proximo_intento <= UTC_TIMESTAMP(3)"), 1);
}

BOOST_AUTO_TEST_CASE(a_locked_gap_keeps_only_the_deliveries_of_its_webhook_late) {
  if (!session.is_mariadb()) return;
  const auto first = add_webhook(session, 1), second = add_webhook(session, 2);
  set_clock(day);
  for (const EntityId entity : {1, 2}) insert_notification(session, entity);
  fan_out(session);
  set_clock(Milliseconds(0));
  // The new delivery is due at once. In the index it lies between the two others.
  insert_notification(session, 2);
  fan_out(session);
  auto other = lock_gap(database, first.id, "pendiente", due_now);
  ClockMending mended;
  BOOST_CHECK(waits_for_no_lock(session, [&] { BOOST_CHECK_NO_THROW(mended = mend(session)); }));
  BOOST_CHECK_EQUAL(mended.rescheduled, 1U);
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(a_large_backlog_is_mended_in_batches_and_a_break_is_made_up_for) {
  for (int entity = 1; entity <= 3; ++entity) add_webhook(session, entity);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1 + seq % 3, "
      "'evaluacion.cerrada', '{}'"
      " FROM " +
      numbers(3600));
  for (int i = 0; i < 4; ++i) fan_out(session);
  session.execute(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 DAY + INTERVAL id MOD 7 SECOND "
      "WHERE id % 2");
  ClockMending cut_short;
  while (cut_short.rescheduled == 0) mend_clock(session, delivery_settings(), cut_short);
  BOOST_CHECK_LE(cut_short.rescheduled, 500U);
  BOOST_CHECK_EQUAL(cut_short.rescheduled + mend(session).rescheduled, 1800U);
  BOOST_CHECK_EQUAL(count("entregas", "proximo_intento > UTC_TIMESTAMP(3)"), 0);
}

BOOST_AUTO_TEST_CASE(an_outage_that_ended_while_the_clock_was_ahead_does_not_last) {
  session.execute(
      "INSERT INTO cortes_envio (despachador, tipo, desde, hasta, visto_en) SELECT 'here:1', 'red',"
      " UTC_TIMESTAMP(3) - INTERVAL 10 MINUTE, IF(seq = 1, UTC_TIMESTAMP(3) + INTERVAL 100 DAY, NULL),"
      " UTC_TIMESTAMP(3) + INTERVAL 100 DAY FROM " +
      numbers(2));
  mend(session);
  BOOST_CHECK_EQUAL(count("cortes_envio", "visto_en <= UTC_TIMESTAMP(3) AND hasta <= UTC_TIMESTAMP(3)"), 1);
  BOOST_CHECK_EQUAL(count("cortes_envio", "visto_en <= UTC_TIMESTAMP(3) AND hasta IS NULL"), 1);
}

// If mend() left the outage's start in the future, the time until that start would not count as an outage,
// and `queue status` would show that start.
BOOST_AUTO_TEST_CASE(an_outage_that_began_while_the_clock_was_ahead_and_lasts_counts_from_now_on) {
  set_clock(10 * day);
  const auto id = begin_outage(session, "here:1", OutageKind::network, Milliseconds(0));
  set_clock(Milliseconds(0));
  update_outage(session, id, 1, {});  // confirms the outage before the clock is mended
  mend(session);
  set_clock(an_hour);
  update_outage(session, id, 1, {});
  BOOST_CHECK(read_outages(session, UtcTime{}).since(UtcTime{}) >= an_hour - Milliseconds(60000));
}

BOOST_AUTO_TEST_SUITE_END()
