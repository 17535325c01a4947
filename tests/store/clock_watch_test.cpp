// Jumps of the database's clock, forward and back.
#include <boost/test/unit_test.hpp>

#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

/// A dispatcher that watches the database's clock. The test moves that clock and the monotonic one.
struct Watched : MaintenanceFixture {
  std::optional<ClockSight> first;
  platform::MonotonicTime now = platform::monotonic_now();

  ClockLook look() { return watch_clock(session, first, now, Milliseconds(60000)); }
  Milliseconds behind() { return look().behind; }
  Milliseconds jumped() { return look().jumped; }
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
  BOOST_CHECK(watch_clock(session, other, now, an_hour).jumped > 99 * day);
  BOOST_CHECK_EQUAL(queue_status(session).clock_jump_s, jumped() / std::chrono::seconds(1));
  BOOST_CHECK(accept_clock(session).jumped > 99 * day);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  BOOST_CHECK_EQUAL(watch_clock(session, other, now, an_hour).jumped.count(), 0);
  BOOST_CHECK_EQUAL(accept_clock(session).jumped.count(), 0);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  accept_clock(session);
  set_clock(150 * day);  // after the acceptance, before the next look at the clock
  BOOST_CHECK(jumped() > 9 * day);
}

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_is_believed_once_it_is_accepted) {
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  set_clock(100 * day);
  BOOST_CHECK(jumped() > 99 * day);
  set_clock(Milliseconds(0));
  const auto by = behind();
  BOOST_CHECK(by > 100 * day - an_hour && by <= 100 * day);
  BOOST_CHECK_EQUAL(behind().count(), 0);
  BOOST_CHECK(jumped() < -99 * day);
  restart();
  BOOST_CHECK(jumped() < -99 * day);
  BOOST_CHECK(accept_clock(session).jumped < -99 * day);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  set_clock(100 * day);
  BOOST_CHECK(jumped() > 99 * day);
}

BOOST_AUTO_TEST_CASE(a_watch_started_during_a_jump_notes_the_next_jump) {
  insert_notification(session, 1);
  jumped();
  set_clock(100 * day);
  BOOST_CHECK(jumped() > 99 * day);
  restart();
  BOOST_CHECK(jumped() > 99 * day);
  set_clock(Milliseconds(0));
  BOOST_CHECK(jumped() < -99 * day);
  set_clock(100 * day);
  BOOST_CHECK(jumped() < -99 * day);  // what was scheduled before may still wait too long
  accept_clock(session);
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  set_clock(200 * day);
  BOOST_CHECK(jumped() > 99 * day);
}

// A dispatcher that starts later sees the jump, too, and cuts the leases.
BOOST_AUTO_TEST_CASE(a_jump_back_is_accepted_only_after_a_dispatcher_has_seen_it) {
  set_clock(day);
  behind();
  set_clock(Milliseconds(0));
  accept_clock(session);
  BOOST_CHECK(behind() > day - an_hour);
}

BOOST_AUTO_TEST_CASE(small_steps_add_up) {
  BOOST_CHECK_EQUAL(jumped().count(), 0);
  for (int step = 1; step <= 3; ++step) {
    set_clock(step * an_hour * 3 / 4);
    BOOST_CHECK_EQUAL(jumped().count() == 0, step == 1);
  }
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

BOOST_AUTO_TEST_CASE(a_jump_back_cuts_leases_to_their_length) {
  add_webhook(session, 1);
  constexpr unsigned leases = batch_rows + 100;
  for (unsigned i = 0; i < leases; ++i) insert_notification(session, 1);
  set_clock(day);
  BOOST_CHECK_EQUAL(behind().count(), 0);
  fan_out(session, DeliveryState::leased);
  session.execute(
      "CREATE TRIGGER refuse BEFORE UPDATE ON entregas FOR EACH ROW BEGIN IF NEW.id = 2"
      " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  set_clock(Milliseconds(0));
  BOOST_CHECK(behind() > day - an_hour);
  BOOST_CHECK_EQUAL(count("entregas", "arriendo_hasta < UTC_TIMESTAMP(3) + INTERVAL 61 SECOND"), leases - 1);
}

BOOST_AUTO_TEST_CASE(an_accepted_jump_back_makes_due_all_that_waits) {
  const auto webhook = add_webhook(session, 1).id;
  add_webhook(session, 2);
  insert_notification(session, 2);
  add_pending(webhook, 2, day, 0);
  add_pending(webhook, 3, day + Milliseconds(300000), 2);
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta, adelantar_en, fallos, fallos_desde,"
      " fallos_ultimo)"
      " VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, 1,"
      " UTC_TIMESTAMP(3) + INTERVAL 1 DAY, UTC_TIMESTAMP(3) + INTERVAL 1 DAY)",
      webhook);
  session.execute(
      "INSERT INTO cortes_envio (despachador, tipo, desde, hasta, visto_en) SELECT 'here:1', 'red',"
      " UTC_TIMESTAMP(3) + INTERVAL 1 DAY, IF(seq = 1, UTC_TIMESTAMP(3) + INTERVAL 2 DAY, NULL),"
      " UTC_TIMESTAMP(3) + INTERVAL 2 DAY FROM " +
      numbers(2));
  session.update(
      "UPDATE entregas SET prevista = proximo_intento, tipo = 'adelantado' WHERE paso = 2");  // brought
                                                                                              // forward
  accept_clock(session);  // of a clock that has not jumped
  BOOST_CHECK_EQUAL(count("entregas", "proximo_intento > UTC_TIMESTAMP(3)"), 5);
  session.update("UPDATE reloj_visto SET salto_ms = -86400000");
  BOOST_CHECK_EQUAL(accept_clock(session).made_due, 5U);
  BOOST_CHECK_EQUAL(count("entregas", "proximo_intento > UTC_TIMESTAMP(3)"), 0);
  BOOST_CHECK_EQUAL(count("entregas", "prevista > UTC_TIMESTAMP(3)"), 0);
  BOOST_CHECK_EQUAL(count("entregas", "paso = 2"), 3);
  BOOST_CHECK_EQUAL(
      count("webhook_ejecuciones",
            "GREATEST(descansa_hasta, adelantar_en, fallos_desde, fallos_ultimo) > UTC_TIMESTAMP(3)"),
      0);
  BOOST_CHECK_EQUAL(
      count("cortes_envio", "GREATEST(desde, visto_en, COALESCE(hasta, desde)) > UTC_TIMESTAMP(3)"), 0);
  BOOST_CHECK_EQUAL(count("cortes_envio", "hasta IS NULL"), 1);
}

BOOST_AUTO_TEST_SUITE_END()
