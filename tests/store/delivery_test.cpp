// The life of a delivery: fan-out, claim, lease, result, maintenance.
#include <boost/test/unit_test.hpp>

#include "database.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

constexpr Lease long_lease{101, Milliseconds(60000)};

struct Fixture {
  Database database;
  Session& session = database.session;
  Webhook webhook = add_webhook(session, 1);

  std::vector<LeasedDelivery> claim_some(unsigned limit, const Lease& lease = long_lease) {
    return claim(session, {{webhook.id, limit}}, lease).deliveries;
  }
  LeasedDelivery claim_one(const Lease& lease = long_lease) { return claim_some(1, lease).at(0); }
  /// Nothing of the webhook is due.
  bool nothing_due() {
    const auto waiting = find_waiting_webhooks(session, {IdRange{}});
    return waiting.empty() || waiting.front().until.count() > 0;
  }
  Delivery only() { return list_deliveries(session, {}).at(0); }
  void queue_one() {
    insert_notification(session, 1);
    fan_out(session);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(life_of_a_delivery, Fixture)

BOOST_AUTO_TEST_CASE(every_entity_that_waits_is_found_and_what_others_hold_is_skipped) {
  for (const EntityId entity : {3, 5, 9}) insert_notification(session, entity);
  BOOST_CHECK((waiting_entities(session) == std::vector<EntityId>{3, 5, 9}));
  Session other = database.connect();
  other.execute("START TRANSACTION");
  BOOST_CHECK_EQUAL(take_pending(other, {{3, 0, 10}}).notifications.size(), 1U);
  BOOST_CHECK_EQUAL(take_pending(session, {{3, 0, 10}, {9, 0, 10}}).notifications.size(), 1U);
  BOOST_CHECK_EQUAL(take_pending(session, {{3, 0, 10}}).found.at(3), 1U);  // held, and there
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(new_notifications_are_found_by_their_ids) {
  const auto before = insert_notification(session, 3);
  BOOST_CHECK_EQUAL(peek_queue(session).newest, before);
  const auto first = insert_notification(session, 5);
  insert_notification(session, 5);
  const auto last = insert_notification(session, 4);
  const auto found = find_new_notifications(session, before, 10);
  BOOST_CHECK((found.entities == std::set<EntityId>{4, 5}));
  BOOST_CHECK(found.last == last && !found.more);
  const auto some = find_new_notifications(session, before, 2);
  BOOST_CHECK(some.more && some.last == first + 1);
  BOOST_CHECK(find_new_notifications(session, last, 2).entities.empty());
}

BOOST_AUTO_TEST_CASE(recipients_of_unknown_and_disabled_entities) {
  add_entity(session, 2, "sin webhooks");
  set_entity_active(session, 2, false);
  const auto recipients = load_recipients(session, {1, 2, 3});
  BOOST_CHECK_EQUAL(recipients.at(1).webhooks.size(), 1U);
  BOOST_CHECK(!recipients.at(2).active && recipients.at(2).webhooks.empty());
  BOOST_CHECK(!recipients.contains(3));
}

BOOST_AUTO_TEST_CASE(what_is_created_leased_is_returned_and_not_claimed_again) {
  insert_notification(session, 1);
  insert_notification(session, 1);
  BOOST_CHECK_EQUAL(fan_out(session, DeliveryState::leased).size(), 2U);
  BOOST_CHECK(claim_some(10).empty());
  BOOST_CHECK_EQUAL(queue_status(session).in_flight, 2);
}

BOOST_AUTO_TEST_CASE(a_claim_is_in_order_within_its_limits_and_exclusive) {
  for (int i = 0; i < 5; ++i) insert_notification(session, 1);
  fan_out(session);
  BOOST_CHECK(load_recipients(session, {1}).at(1).webhooks.at(0).backlog);
  BOOST_CHECK(!nothing_due());
  const auto first = claim_some(3);
  const auto second = claim_some(10, {102, Milliseconds(60000)});
  BOOST_REQUIRE_EQUAL(first.size(), 3U);
  BOOST_REQUIRE_EQUAL(second.size(), 2U);
  BOOST_CHECK_LT(first[0].notification, first[1].notification);
  BOOST_CHECK_LT(first[2].notification, second[0].notification);
  BOOST_CHECK_EQUAL(first[0].data, R"({"evaluacionId": 1, "titulo": "t"})");
  BOOST_CHECK(nothing_due());
}

BOOST_AUTO_TEST_CASE(a_deleted_or_disabled_webhook_yields_nothing) {
  queue_one();
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK(claim_some(1).empty());
  enable_webhook(session, webhook.id, false);
  delete_webhook(session, 1, webhook.id);
  BOOST_CHECK(claim_some(1).empty());
  BOOST_CHECK_EQUAL(reconcile(session).cancelled, 1U);
  BOOST_CHECK_EQUAL(only().state, "cancelada");
}

BOOST_AUTO_TEST_CASE(a_delete_waits_for_a_claim_that_has_looked) {
  // Otherwise a claim could commit after the DELETE has answered.
  queue_one();
  Session other = database.connect();
  other.execute("SET SESSION innodb_lock_wait_timeout = 1");
  session.execute("START TRANSACTION");
  load_recipients(session, {1});
  BOOST_CHECK_THROW(delete_webhook(other, 1, webhook.id), Conflict);
  session.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(success_is_recorded_everywhere) {
  queue_one();
  const auto leased = claim_one();
  BOOST_CHECK_EQUAL(record_results(session, {delivered(leased)}, Milliseconds(0)).stale.size(), 0U);
  BOOST_CHECK_EQUAL(only().state, "entregada");
  BOOST_CHECK_EQUAL(only().attempts, 1);
  const auto attempts = list_attempts(session, leased.id);
  BOOST_REQUIRE_EQUAL(attempts.size(), 1U);
  BOOST_CHECK_EQUAL(*attempts[0].status, 200);
  BOOST_CHECK_EQUAL(*attempts[0].address, "127.0.0.1");
  const auto seen = find_webhook(session, webhook.id).value();
  BOOST_CHECK_EQUAL(*seen.last_status, 200);
  BOOST_CHECK(seen.last_execution.has_value() && seen.last_error.empty());
}

BOOST_AUTO_TEST_CASE(failure_waits_and_counts) {
  queue_one();
  record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))}, Milliseconds(0));
  BOOST_CHECK_EQUAL(only().state, "pendiente");
  BOOST_CHECK(only().next_attempt.value() > platform::utc_now() + Milliseconds(3000000));
  BOOST_CHECK(nothing_due());
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::done);
  const auto again = claim_one();
  BOOST_CHECK_EQUAL(again.attempts, 1U);
  BOOST_CHECK_EQUAL(again.failures, 0U);  // the schedule from the start
  record_results(session, {delivered(again)}, Milliseconds(0));
  BOOST_CHECK_EQUAL(list_attempts(session, again.id).size(), 2U);
}

BOOST_AUTO_TEST_CASE(a_stale_owner_changes_nothing) {
  queue_one();
  const auto stale = claim_one({1, Milliseconds(0)});
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10), 1U);
  const auto owner = claim_one({2, Milliseconds(60000)});
  BOOST_CHECK_EQUAL(owner.failures, 0U);  // an unknown outcome does not advance the schedule
  const auto result = record_results(session, {failed_attempt(stale, Milliseconds(1))}, Milliseconds(0));
  BOOST_CHECK_EQUAL(result.stale.size(), 1U);
  BOOST_CHECK_EQUAL(only().state, "en_curso");
  BOOST_CHECK(list_attempts(session, stale.id).empty());
  record_results(session, {delivered(owner)}, Milliseconds(0));
  BOOST_CHECK_EQUAL(only().state, "entregada");
}

BOOST_AUTO_TEST_CASE(a_lease_whose_row_somebody_holds_is_still_to_be_released) {
  queue_one();
  queue_one();
  const auto leased = claim_some(2);
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas WHERE id = ? FOR UPDATE", leased[0].id);
  const auto held = release_leases(session, leased);
  BOOST_REQUIRE_EQUAL(held.size(), 1U);
  BOOST_CHECK_EQUAL(held[0].id, leased[0].id);
  BOOST_CHECK_EQUAL(claim_one().id, leased[1].id);
  other.execute("ROLLBACK");
  BOOST_CHECK(release_leases(session, held).empty());
  BOOST_CHECK_EQUAL(claim_one().id, leased[0].id);
}

BOOST_AUTO_TEST_CASE(released_leases_are_due_at_once) {
  queue_one();
  const auto leased = claim_one();
  release_leases(session, {leased});
  BOOST_CHECK_EQUAL(claim_one().id, leased.id);
}

BOOST_AUTO_TEST_CASE(a_429_rests_and_a_failure_probes) {
  insert_notification(session, 1);
  queue_one();
  auto delivery_result = failed_attempt(claim_one(), Milliseconds(1));
  delivery_result.status = 429;
  delivery_result.probe = true;
  delivery_result.rest = Milliseconds(60000);
  record_results(session, {delivery_result}, Milliseconds(0));
  BOOST_CHECK_GT(load_receiving(session, {webhook.id}).at(0).rest.count(), 50000);
  const auto subscriber = load_recipients(session, {1}).at(1).webhooks.at(0);
  BOOST_CHECK(subscriber.probing && subscriber.resting && subscriber.backlog);
  session.update("UPDATE webhook_ejecuciones SET descansa_hasta = UTC_TIMESTAMP(3)");
  const auto receiving = load_receiving(session, {webhook.id}).at(0);
  BOOST_CHECK(receiving.probing && receiving.rest.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_410_deactivates) {
  queue_one();
  auto delivery_result = failed_attempt(claim_one(), Milliseconds(1));
  delivery_result.gone = true;
  BOOST_CHECK_EQUAL(record_results(session, {delivery_result}, Milliseconds(0)).deactivated.size(), 1U);
  BOOST_CHECK_EQUAL(*find_webhook(session, webhook.id)->inactive_reason, "http_410");
}

BOOST_AUTO_TEST_CASE(ten_failures_over_the_period_deactivate_and_a_success_forgets_them) {
  const auto fail = [&](int times) {
    std::vector<WebhookId> deactivated;
    for (int i = 0; i < times; ++i) {
      session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
      deactivated =
          record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, Milliseconds(3600000))
              .deactivated;
    }
    return deactivated;
  };
  const auto age_streak = [&] {
    session.update(
        "UPDATE webhook_ejecuciones SET fallos_desde = fallos_desde - INTERVAL 2 HOUR WHERE fallos > 0");
  };
  queue_one();
  BOOST_CHECK(fail(10).empty());  // ten, but within the hour
  record_results(session, {delivered(claim_one())}, Milliseconds(3600000));
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 0);
  queue_one();
  fail(8);
  age_streak();
  BOOST_CHECK(fail(1).empty());  // old enough, but nine
  BOOST_CHECK_EQUAL(fail(1).size(), 1U);
  BOOST_CHECK_EQUAL(*find_webhook(session, webhook.id)->inactive_reason, "fallos");
}

BOOST_AUTO_TEST_CASE(a_streak_starts_again_after_48_hours_without_an_attempt) {
  queue_one();
  record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, Milliseconds(1));
  session.update(
      "UPDATE webhook_ejecuciones SET ultima_ejecucion = ultima_ejecucion - INTERVAL 49 HOUR, fallos = 20,"
      " fallos_desde = fallos_desde - INTERVAL 100 HOUR");
  BOOST_CHECK(record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, Milliseconds(1))
                  .deactivated.empty());
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 1);
}

BOOST_AUTO_TEST_CASE(test_events_do_not_count_for_deactivation) {
  queue_test_event(session, 1, webhook::Event::incidencia_cerrada, "{}");
  const auto leased = claim_one();
  BOOST_CHECK(leased.test);
  record_results(session, {failed_attempt(leased, Milliseconds(1))}, Milliseconds(1));
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 0);
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
  record_results(session, {failed_attempt(leased, Milliseconds(0))}, Milliseconds(0));
  BOOST_CHECK(claim_some(1).empty());
  BOOST_CHECK_EQUAL(only().state, "cancelada");
}

BOOST_AUTO_TEST_CASE(a_failed_delivery_is_replayed_alone_or_with_the_rest) {
  queue_one();
  queue_one();
  for (const auto& leased : claim_some(2)) {
    auto delivery_result = failed_attempt(leased, Milliseconds(0));
    delivery_result.state = DeliveryState::failed;
    record_results(session, {delivery_result}, Milliseconds(0));
  }
  BOOST_CHECK_EQUAL(queue_status(session).failed, 2);
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::done);
  BOOST_CHECK_EQUAL(retry_failed_deliveries(session, webhook.id, UtcTime{}).value(), 1U);
  BOOST_CHECK_EQUAL(queue_status(session).pending_deliveries, 2);
  BOOST_CHECK(retry_delivery(session, 999) == DeliveryChange::not_found);
  BOOST_CHECK(!retry_failed_deliveries(session, 999, UtcTime{}));
}

BOOST_AUTO_TEST_CASE(pause_and_resume) {
  BOOST_CHECK(set_paused(session, true));
  BOOST_CHECK(!set_paused(session, true));
  BOOST_CHECK(is_paused(session));
  BOOST_CHECK(set_paused(session, false));
  BOOST_CHECK(!queue_status(session).paused);
}

BOOST_AUTO_TEST_CASE(a_date_that_is_none_is_refused_or_comes_without_a_time) {
  // Some modes of the writer's session let a month or a day of 0 in.
  session.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES'");
  BOOST_CHECK_THROW(
      session.execute("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
                      " VALUES (1, 'evaluacion.cerrada', '{}', '2026-00-15')"),
      DatabaseError);
  session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT ocurrida_en_no_es_fecha");
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
      " VALUES (1, 'evaluacion.cerrada', '{}', '2026-00-15')");
  BOOST_CHECK(!take_pending(session, {{1, 0, 10}}).notifications.at(0).occurred.has_value());
}

BOOST_AUTO_TEST_CASE(maintenance_waits_for_nobody) {
  queue_one();
  const auto leased = claim_one({1, Milliseconds(0)});
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT id FROM entregas WHERE id = ? FOR UPDATE", leased.id);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10), 0U);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10), 1U);
  disable_webhook(session, webhook.id, disabled_by_operator);
  other.execute("START TRANSACTION");
  other.query("SELECT id FROM entregas WHERE id = ? FOR UPDATE", leased.id);
  BOOST_CHECK_EQUAL(reconcile(session).held, 0U);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(reconcile(session).held, 1U);
}

BOOST_AUTO_TEST_CASE(a_shorter_rest_does_not_end_a_longer_one) {
  for (const int minutes : {60, 1}) {
    queue_one();
    session.update("UPDATE webhook_ejecuciones SET descansa_hasta = descansa_hasta");
    auto delivery_result = failed_attempt(claim_one(), Milliseconds(3600000));
    delivery_result.rest = Milliseconds(minutes * 60000);
    record_results(session, {delivery_result}, Milliseconds(0));
  }
  const auto left = session.query(
      "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(3), descansa_hasta) AS minutes FROM webhook_ejecuciones");
  BOOST_CHECK_GE(left.at(0).integer("minutes"), 58);
}

BOOST_AUTO_TEST_CASE(a_batch_with_a_stale_owner_changes_only_what_is_its_own) {
  queue_one();
  queue_one();
  auto leased = claim_some(2);
  BOOST_REQUIRE_EQUAL(leased.size(), 2U);
  session.update("UPDATE entregas SET arriendo = 999 WHERE id = ?", leased[0].id);
  const auto result = record_results(session, {delivered(leased[0]), delivered(leased[1])}, Milliseconds(0));
  BOOST_CHECK_EQUAL(result.stale.size(), 1U);
  BOOST_CHECK(list_attempts(session, leased[0].id).empty());
  BOOST_CHECK_EQUAL(list_attempts(session, leased[1].id).size(), 1U);
  BOOST_CHECK_EQUAL(queue_status(session).in_flight, 1);
}

BOOST_AUTO_TEST_CASE(a_claim_begins_where_it_is_told_and_says_how_far_it_got) {
  for (int i = 0; i < 3; ++i) queue_one();
  session.update("UPDATE entregas SET proximo_intento = '2026-01-01' + INTERVAL id SECOND");
  const auto first = claim(session, {{webhook.id, 1}}, long_lease);
  BOOST_REQUIRE_EQUAL(first.reached.size(), 1U);
  BOOST_CHECK_EQUAL(first.reached[0].found, 1U);
  const auto rest =
      claim(session, {{webhook.id, 10, first.reached[0].last + Milliseconds(1001)}}, long_lease);
  BOOST_CHECK_EQUAL(rest.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(rest.reached[0].found, 1U);
  BOOST_CHECK_EQUAL(claim_some(10).size(), 1U);
}

BOOST_AUTO_TEST_CASE(what_somebody_holds_is_told_without_waiting) {
  queue_one();
  queue_one();
  const auto leased = claim_some(2);
  const std::vector<DeliveryResult> delivery_results{delivered(leased[0]), delivered(leased[1])};
  const auto unlocked = [&] { return find_unlocked(session, delivery_results).contains(webhook.id); };
  BOOST_CHECK(unlocked());  // it has no row in webhook_ejecuciones yet
  record_results(session, {delivery_results[0]}, Milliseconds(0));
  Session other = database.connect();
  for (const auto* sql : {"SELECT 1 FROM webhook_ejecuciones FOR UPDATE", "SELECT 1 FROM entregas FOR UPDATE",
                          "SELECT 1 FROM webhooks FOR UPDATE"}) {
    other.execute("START TRANSACTION");
    other.query(sql);
    BOOST_CHECK(!unlocked());
    other.execute("ROLLBACK");
    BOOST_CHECK(unlocked());
  }
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhooks LOCK IN SHARE MODE");
  BOOST_CHECK(unlocked());  // recording a result reads it, too
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(what_somebody_has_inserted_and_not_committed_is_held) {
  queue_one();
  const auto leased = claim_some(1);
  const std::vector<DeliveryResult> delivery_results{delivered(leased[0])};
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.update("INSERT INTO webhook_ejecuciones (webhook_id, ultimo_error) VALUES (?, '')", webhook.id);
  BOOST_CHECK(!find_unlocked(session, delivery_results).contains(webhook.id));
  other.execute("ROLLBACK");
  BOOST_CHECK(find_unlocked(session, delivery_results).contains(webhook.id));
}

BOOST_AUTO_TEST_CASE(a_look_for_nothing_leaves_the_isolation_of_the_session_as_it_is) {
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.execute("INSERT INTO entidades (id, nombre) VALUES (99, 'e')");
  BOOST_CHECK(find_unlocked(session, {}).empty());
  BOOST_CHECK(session.query("SELECT id FROM entidades WHERE id = 99").empty());
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_SUITE_END()
