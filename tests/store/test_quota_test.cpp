// The quotas `pending_tests` and `test_bytes`, under concurrency and over time.
#include <atomic>
#include <boost/test/unit_test.hpp>

#include "tests/store/quota_support.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;

namespace {

constexpr auto event = webhook::Event::incidencia_cerrada;

/// Queues a test event. Returns whether it was accepted.
bool send(Session& session, EntityId entity, std::uint64_t limit) {
  try {
    return despite_lock_timeouts(
        [&] { return !queue_test_event(session, entity, event, "{}", limit).empty(); });
  } catch (const OverQuota&) {
    return false;
  }
}

std::int64_t count(Session& session, const std::string& table) {
  return session.query("SELECT COUNT(*) AS total FROM " + table).at(0).integer("total");
}

void end_all(Session& session, const char* state) {
  session.update("UPDATE entregas SET estado = ?, terminada_en = UTC_TIMESTAMP(3)", state);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(test_quota)

BOOST_AUTO_TEST_CASE(sessions_at_once_never_exceed_it) {
  Database database;
  add_webhook(database.session, 1);
  add_webhook(database.session, 1);
  std::atomic<int> accepted = 0;
  run_at_once(8, [&](int) {
    Session session = database.connect();
    for (int n = 0; n < 4; ++n) accepted += send(session, 1, 9) ? 1 : 0;
  });
  BOOST_CHECK_EQUAL(accepted, 4);
  BOOST_CHECK_EQUAL(count(database.session, "entregas"), 8);
  BOOST_CHECK_EQUAL(count(database.session, "notificaciones_pendientes"), 4);
}

BOOST_AUTO_TEST_CASE(so_many_bytes_in_a_day_of_an_entity_however_many_sessions_ask) {
  Database database;
  Session& own = database.session;
  add_webhook(own, 1);
  add_webhook(own, 2);
  const std::string data = '"' + std::string(9998, 'x') + '"';
  constexpr std::uint64_t per_day = 50000;  // enough for four events with their deliveries
  std::atomic<int> accepted = 0;
  const auto store = [&](Session& session, EntityId entity) {
    try {
      accepted += despite_lock_timeouts(
          [&] { return queue_test_event(session, entity, event, data, 0, per_day).empty() ? 0 : 1; });
      return 0U;
    } catch (const OverQuota& refused) {
      return refused.retry_after_s;
    }
  };
  run_at_once(8, [&](int) {
    Session session = database.connect();
    for (int n = 0; n < 3; ++n) store(session, 1);
  });
  BOOST_CHECK_EQUAL(accepted, 4);
  BOOST_CHECK_EQUAL(count(own, "notificaciones_pendientes"), 4);
  BOOST_CHECK_EQUAL(count(own, "pruebas_por_borrar"), 4);
  const auto wait_s = store(own, 1);
  // Five events count as 55,120 bytes, 5,120 more than the quota. The quota regains these in about a tenth of
  // a day.
  BOOST_CHECK(wait_s > 8000 && wait_s < 9000);
  BOOST_CHECK_EQUAL(store(own, 2), 0U);
  own.update("UPDATE turnos_prueba SET bytes_saldados_hasta = bytes_saldados_hasta - INTERVAL ? SECOND",
             wait_s);
  BOOST_CHECK_EQUAL(store(own, 1), 0U);
}

BOOST_AUTO_TEST_CASE(a_request_beyond_the_quota_passes_when_nothing_else_counts) {
  Database database;
  Session& own = database.session;
  add_webhook(own, 1);
  const auto send_much = [&] {
    queue_test_event(own, 1, event, '"' + std::string(60000, 'x') + '"', 0, 5000);
  };
  send_much();
  try {
    send_much();
    BOOST_ERROR("the second event is not refused");
  } catch (const OverQuota& refused) {
    BOOST_CHECK(refused.quota == Quota::test_bytes);
    BOOST_CHECK(refused.retry_after_s > 86000 && refused.retry_after_s <= 86400);
  }
  own.update("UPDATE turnos_prueba SET bytes_saldados_hasta = UTC_TIMESTAMP(6)");
  send_much();
}

BOOST_AUTO_TEST_CASE(entities_have_a_limit_each) {
  Database database;
  add_webhook(database.session, 1);
  add_webhook(database.session, 2);
  BOOST_CHECK(send(database.session, 1, 1));
  BOOST_CHECK(!send(database.session, 1, 1));
  BOOST_CHECK(send(database.session, 2, 1));
}

BOOST_AUTO_TEST_CASE(finished_test_deliveries_free_the_quota_but_held_ones_do_not) {
  Database database;
  auto& session = database.session;
  session.execute("SET @any_state = 1");
  add_webhook(session, 1);
  for (const auto* state : {"entregada", "fallida", "cancelada"}) {
    BOOST_CHECK(send(session, 1, 2) && send(session, 1, 2) && !send(session, 1, 2));
    end_all(session, state);
    BOOST_CHECK(send(session, 1, 2));
    BOOST_CHECK_EQUAL(count(session, "pruebas_pendientes"), 1);
    end_all(session, state);
  }
  BOOST_CHECK(send(session, 1, 1));
  session.update("UPDATE entregas SET estado = 'retenida' WHERE estado = 'pendiente'");
  BOOST_CHECK(!send(session, 1, 1));
  session.execute("DELETE FROM entregas");  // as the purge does
  BOOST_CHECK(send(session, 1, 1));
}

BOOST_AUTO_TEST_CASE(other_deliveries_do_not_count_and_without_a_limit_nothing_does) {
  Database database;
  auto& session = database.session;
  add_webhook(session, 1);
  insert_notification(session, 1);
  fan_out(session);
  for (int i = 0; i < 3; ++i) BOOST_CHECK(send(session, 1, 0));
  BOOST_CHECK_EQUAL(count(session, "pruebas_pendientes"), 0);
  BOOST_CHECK(send(session, 1, 1));
}

/// The limit is below the number of webhooks, so no event is accepted. If a refused transaction rolled
/// back its INSERT of the entity's row of `turnos_prueba`, the sessions that wait for this row would
/// deadlock: all would lock the gap into which each of them inserts.
BOOST_AUTO_TEST_CASE(sessions_that_are_all_refused_are_in_no_conflict) {
  Database database;
  for (int i = 0; i < 2; ++i) add_webhook(database.session, 1);
  std::atomic<int> refused = 0;
  std::atomic<int> conflicts = 0;
  run_at_once(8, [&](int) {
    auto session = connect_counting(database, conflicts);
    for (int n = 0; n < 4; ++n) refused += send(session, 1, 1) ? 0 : 1;
  });
  BOOST_CHECK_EQUAL(refused, 32);
  BOOST_CHECK_EQUAL(conflicts, 0);
}

BOOST_AUTO_TEST_CASE(a_refused_event_writes_nothing) {
  Database database;
  auto& session = database.session;
  for (int i = 0; i < 3; ++i) add_webhook(session, 1);
  BOOST_CHECK_EXCEPTION(queue_test_event(session, 1, event, "{}", 2), OverQuota, is_of(Quota::pending_tests));
  BOOST_CHECK_EQUAL(count(session, "notificaciones_pendientes"), 0);
  BOOST_CHECK_EQUAL(count(session, "pruebas_pendientes"), 0);
  BOOST_CHECK(queue_test_event(session, 3, event, "{}", 2).empty());
}

BOOST_AUTO_TEST_SUITE_END()
