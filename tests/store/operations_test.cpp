// What the operator and entities do to the queue: delete, cancel, replay, discard, pause.
#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

BOOST_FIXTURE_TEST_SUITE(operations, DeliveryFixture)

BOOST_AUTO_TEST_CASE(a_deleted_or_disabled_webhook_yields_nothing) {
  queue_one();
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK(claim_some(1).empty());
  enable_webhook(session, webhook.id, false);
  delete_webhook(session, {1}, webhook.id);
  BOOST_CHECK(claim_some(1).empty());
  BOOST_CHECK_EQUAL(reconcile(session).cancelled, 1U);
  BOOST_CHECK_EQUAL(only().state, "cancelada");
}

BOOST_AUTO_TEST_CASE(cancelling_stops_what_has_not_been_sent) {
  queue_one();
  const auto id = only().notification;
  BOOST_CHECK_EQUAL(cancel_notification(session, id).cancelled_deliveries, 1U);
  BOOST_CHECK_EQUAL(only().state, "cancelada");
  BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::wrong_state);
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::wrong_state);
}

BOOST_AUTO_TEST_CASE(an_attempt_in_flight_at_the_cancellation_is_not_repeated) {
  queue_one();
  const auto leased = claim_one();
  BOOST_CHECK_EQUAL(cancel_notification(session, leased.notification).in_flight, 1U);
  record_results(session, {failed_attempt(leased, Milliseconds(0))}, {Milliseconds(0)});
  BOOST_CHECK(claim_some(1).empty());
  BOOST_CHECK_EQUAL(only().state, "cancelada");
}

BOOST_AUTO_TEST_CASE(a_failed_delivery_is_replayed_alone_or_with_the_rest) {
  queue_one();
  queue_one();
  for (const auto& leased : claim_some(2)) {
    auto delivery_result = failed_attempt(leased, Milliseconds(0));
    delivery_result.state = DeliveryState::failed;
    record_results(session, {delivery_result}, {Milliseconds(0)});
  }
  BOOST_CHECK_EQUAL(queue_status(session).failed, 2);
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::done);
  BOOST_CHECK_EQUAL(retry_failed_deliveries(session, webhook.id, UtcTime{}).value(), 1U);
  BOOST_CHECK_EQUAL(queue_status(session).pending_deliveries, 2);
  BOOST_CHECK(retry_delivery(session, 999) == DeliveryChange::not_found);
  BOOST_CHECK(!retry_failed_deliveries(session, 999, UtcTime{}));
}

// On MariaDB the evaluation system can switch the CHECKs off without any right; on MySQL only the DBA can.
BOOST_AUTO_TEST_CASE(an_operator_can_put_a_row_away_that_was_written_past_the_checks) {
  session.execute(
      session.is_mariadb()
          ? "SET check_constraint_checks = 0"
          : "ALTER TABLE notificaciones_pendientes"
            " ALTER CHECK evento_no_es_uno_de_los_11 NOT ENFORCED, ALTER CHECK datos_no_es_json NOT ENFORCED,"
            " ALTER CHECK clave_de_1_a_64_caracteres NOT ENFORCED");
  const auto bad = [&](std::string_view event, std::string_view key) {
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES (1, ?, '{', ?)",
        event, key);
    return session.last_insert_id();
  };
  const auto first = bad("ninguno", "k");
  const auto second = bad("evaluacion.cerrada", std::string(65, 'k'));
  if (session.is_mariadb()) session.execute("SET check_constraint_checks = 1");
  BOOST_CHECK(cancel_notification(session, first).change == NotificationChange::done);
  session.update(
      "/*M! SET STATEMENT check_constraint_checks = 0 FOR */ UPDATE notificaciones_pendientes"
      " SET estado = 'rechazada', error = 'clave', terminada_en = UTC_TIMESTAMP(3) WHERE id = ?",
      second);
  BOOST_CHECK(retry_notification(session, second) == NotificationChange::done);
  BOOST_CHECK_EQUAL(find_notification(session, second)->state, "pendiente");
  session.update(
      "/*M! SET STATEMENT check_constraint_checks = 0 FOR */ UPDATE notificaciones_pendientes"
      " SET estado = 'rechazada', error = 'clave', terminada_en = UTC_TIMESTAMP(3) WHERE id = ?",
      second);
  BOOST_CHECK(discard_notification(session, second) == NotificationChange::done);
}

BOOST_AUTO_TEST_CASE(pause_and_resume) {
  BOOST_CHECK(set_paused(session, true));
  BOOST_CHECK(!set_paused(session, true));
  BOOST_CHECK(is_paused(session));
  BOOST_CHECK(set_paused(session, false));
  BOOST_CHECK(!queue_status(session).paused);
}

// An earlier release marked a delivered delivery `fallida` when its replay failed.
BOOST_AUTO_TEST_CASE(retrying_all_failed_deliveries_skips_those_delivered_before) {
  add_deliveries(2, "fallida", 0);
  session.update("UPDATE entregas SET entregada_en = creada_en ORDER BY id LIMIT 1");
  BOOST_CHECK_EQUAL(retry_failed_deliveries(session, webhook.id, UtcTime{}).value(), 1U);
}

BOOST_AUTO_TEST_CASE(a_count_of_what_would_be_retried_is_that_of_the_retry) {
  add_deliveries(1200, "fallida", 0);
  add_deliveries(700, "pendiente", 0);
  add_deliveries(3, "fallida", 2);
  session.update("UPDATE entregas SET paso = 1 WHERE estado = 'pendiente' ORDER BY id LIMIT 600");
  const auto since = platform::utc_now() - std::chrono::hours(24);
  const auto counted = retry_failed_deliveries(session, webhook.id, since, Bulk::count);
  BOOST_CHECK_EQUAL(counted.value(), 1800U);
  BOOST_CHECK_EQUAL(queue_status(session).failed, 1203);
  BOOST_CHECK_EQUAL(retry_failed_deliveries(session, webhook.id, since).value(), 1800U);
  BOOST_CHECK_EQUAL(queue_status(session).failed, 3);
}

BOOST_AUTO_TEST_CASE(a_count_of_what_would_be_released_or_discarded_is_that_of_the_change) {
  add_deliveries(600, "retenida", 0);
  add_deliveries(20, "pendiente", 0);
  BOOST_CHECK_EQUAL(preview_enable_webhook(session, webhook.id, false).released, 600U);
  BOOST_CHECK_EQUAL(preview_enable_webhook(session, webhook.id, true).cancelled, 620U);
  BOOST_CHECK_EQUAL(queue_status(session).held, 600);
  BOOST_CHECK_EQUAL(enable_webhook(session, webhook.id, true)->cancelled, 620U);
}

BOOST_AUTO_TEST_CASE(what_is_attempted_next_is_found_behind_a_backlog) {
  add_deliveries(2, "pendiente", 0);
  const auto deliveries = list_deliveries(session, {});
  session.update(
      "UPDATE entregas SET paso = 1, proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 DAY ORDER BY id LIMIT "
      "1");
  add_deliveries(2000, "pendiente", 0);
  add_deliveries(1000, "entregada", 0);
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR WHERE id > ?",
                 deliveries.back().id);
  const auto found = find_next_attempted(session, webhook.id);
  BOOST_CHECK(std::ranges::count(found, deliveries.front().id) == 1);  // the oldest that waits for a retry
  BOOST_CHECK(std::ranges::count(found, deliveries.back().id) == 1);   // the first that is due
  BOOST_CHECK(found.size() <= 3 * batch_rows);
}

BOOST_AUTO_TEST_CASE(the_operators_test_event_goes_to_a_subscribed_webhook_alone) {
  const auto event = webhook.events.events().front();
  const auto queued = queue_test_delivery(session, webhook, event, "{}");
  BOOST_CHECK_EQUAL(find_delivery(session, queued.value())->webhook, webhook.id);
  BOOST_CHECK_EQUAL(list_deliveries(session, {}).size(), 1U);
  webhook::EventSet one;
  one.insert(event);
  const auto other =
      create_webhook(session, {1, "https://otro.example.org/", one, {}}, keys()).webhook.value();
  BOOST_CHECK(!queue_test_delivery(session, other, webhook.events.events().back(), "{}"));
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK(!queue_test_delivery(session, webhook, event, "{}"));
}

// Each batch begins after the last row of the one before.
BOOST_AUTO_TEST_CASE(retrying_four_times_as_many_deliveries_reads_four_times_as_many_rows) {
  const auto rows_to_retry = [&](unsigned count) {
    add_deliveries(count, "pendiente", 0);
    session.update(
        "UPDATE entregas SET paso = 1, proximo_intento = proximo_intento + INTERVAL 1 DAY"
        " WHERE estado = 'pendiente' AND paso = 0 ORDER BY id DESC LIMIT ?",
        count);
    const auto before = rows_read(session);
    BOOST_TEST(retry_failed_deliveries(session, webhook.id, UtcTime{}).value() == count);
    return rows_read(session) - before;
  };
  const auto few = rows_to_retry(1000);
  const auto many = rows_to_retry(4000);
  BOOST_TEST(many < 5 * few);
}

BOOST_AUTO_TEST_CASE(retries_are_hastened_without_waiting_for_the_lock_of_their_webhook) {
  add_deliveries(3, "pendiente", 0);
  session.execute("UPDATE entregas SET paso = 1");
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT * FROM webhooks WHERE id = ? FOR UPDATE", webhook.id);
  BOOST_CHECK(waits_for_no_lock(
      session, [&] { BOOST_TEST(retry_failed_deliveries(session, webhook.id, UtcTime{}).value() == 3U); }));
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(retrying_the_failures_of_today_reads_older_ones_once) {
  const auto rows_to_retry = [&](unsigned count) {
    add_deliveries(count, "fallida", 0);
    const auto before = rows_read(session);
    BOOST_TEST(
        retry_failed_deliveries(session, webhook.id, platform::utc_now() - std::chrono::hours(1)).value() ==
        count);
    return rows_read(session) - before;
  };
  const auto alone = rows_to_retry(2000);
  add_deliveries(3000, "fallida", 10);
  BOOST_TEST(rows_to_retry(2000) - alone < 9000);
}

BOOST_AUTO_TEST_SUITE_END()
