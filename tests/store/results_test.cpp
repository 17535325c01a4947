// What a result changes in its delivery, its webhook and the rows of attempts.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "lib/delivery/classify.hpp"
#include "lib/store/deliveries/executions.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

BOOST_FIXTURE_TEST_SUITE(recorded_results, DeliveryFixture)

BOOST_AUTO_TEST_CASE(success_is_recorded_everywhere) {
  queue_one();
  const auto leased = claim_one();
  BOOST_CHECK_EQUAL(record_results(session, {delivered(leased)}, {Milliseconds(0)}).stale.size(), 0U);
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

// If a batch has only successes, another statement writes webhook_ejecuciones, 32 rows at a time.
BOOST_DATA_TEST_CASE(each_webhook_of_a_batch_gets_its_own_last_execution,
                     boost::unit_test::data::make({0, 7}), failing) {
  constexpr std::int64_t webhooks = 70;
  const auto fails = [&](std::int64_t nth) { return failing != 0 && nth % failing == 0; };
  std::vector<ClaimRequest> requests;
  for (std::int64_t entity = 2; entity < 2 + webhooks; ++entity) {
    add_webhook(session, entity);
    insert_notification(session, entity);
  }
  fan_out(session);
  for (const auto& row : session.query("SELECT webhook_id AS id FROM entregas"))
    requests.push_back({row.integer("id"), 1});
  std::vector<DeliveryResult> results;
  for (const auto& leased : claim(session, requests, long_lease).leased.deliveries) {
    const auto nth = static_cast<std::int64_t>(results.size());
    results.push_back(fails(nth) ? failed_attempt(leased, Milliseconds(3600000)) : delivered(leased));
    results.back().started = platform::UtcTime(Milliseconds(1'700'000'000'000 + nth));
    if (!fails(nth)) results.back().status = static_cast<int>(200 + nth % 100);
  }
  BOOST_REQUIRE_EQUAL(results.size(), webhooks);
  const auto summary = record_results(session, results, {Milliseconds(0)});
  BOOST_CHECK(summary.stale.empty() && summary.locked.empty() && summary.waited.empty());
  for (const auto& result : results) {
    const auto seen = find_webhook(session, result.webhook).value();
    BOOST_CHECK(seen.last_execution == result.started);
    BOOST_CHECK(seen.last_status == std::optional<std::int64_t>(result.status));
    BOOST_CHECK_EQUAL(seen.last_error, result.error);
  }
  BOOST_CHECK_EQUAL(session.query("SELECT SUM(fallos) AS n FROM webhook_ejecuciones").at(0).integer("n"),
                    failing == 0 ? 0 : webhooks / failing);
}

BOOST_AUTO_TEST_CASE(counters_at_their_end_refuse_no_result) {
  queue_one();
  const auto count_to_the_end = [&] {
    session.execute(
        "UPDATE entregas SET intentos = 4294967295, paso = 4294967295, proximo_intento = UTC_TIMESTAMP(3)");
    session.execute("UPDATE webhook_ejecuciones SET fallos = 4294967295 WHERE fallos > 0");
    return claim_one();
  };
  auto failed = failed_attempt(count_to_the_end(), Milliseconds(0));
  BOOST_CHECK(record_results(session, {failed}, {Milliseconds(0)}).stale.empty());
  BOOST_CHECK_EQUAL(only().state, "pendiente");
  failed = failed_attempt(count_to_the_end(), Milliseconds(0));
  failed.kind = delivery::AttemptKind::probe;
  BOOST_CHECK(record_results(session, {failed}, {Milliseconds(0)}).stale.empty());
  BOOST_CHECK_EQUAL(only().state, "pendiente");
  const auto last = delivered(count_to_the_end());
  BOOST_CHECK(record_results(session, {last}, {Milliseconds(0)}).stale.empty());
  BOOST_CHECK_EQUAL(only().state, "entregada");
  BOOST_CHECK_EQUAL(only().attempts, 4294967295);
}

BOOST_AUTO_TEST_CASE(failure_waits_and_counts) {
  queue_one();
  record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(only().state, "pendiente");
  BOOST_CHECK(only().next_attempt.value() > platform::utc_now() + Milliseconds(3000000));
  BOOST_CHECK(nothing_due());
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::done);
  const auto again = claim_one();
  BOOST_CHECK_EQUAL(again.attempts, 1U);
  BOOST_CHECK_EQUAL(again.failures, 0U);  // the schedule begins again
  record_results(session, {delivered(again)}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(list_attempts(session, again.id).size(), 2U);
}

BOOST_AUTO_TEST_CASE(a_repeated_hold_for_the_same_reason_is_reported) {
  queue_one();
  const auto hold = [this](delivery::Unreadable what) {
    const auto leased = claim_one();
    const auto summary =
        record_results(session, {delivery::hold_unreadable({leased, what})}, {Milliseconds(0)});
    BOOST_CHECK_EQUAL(only().state, "retenida");
    session.update("UPDATE entregas SET estado = 'pendiente', proximo_intento = UTC_TIMESTAMP(3)");
    session.update("UPDATE webhook_ejecuciones SET descansa_hasta = NULL");
    return summary.held_again == std::set{leased.id};
  };
  BOOST_CHECK(!hold(delivery::Unreadable::secret));
  BOOST_CHECK(hold(delivery::Unreadable::secret));
  BOOST_CHECK(!hold(delivery::Unreadable::test_data));
  BOOST_CHECK(hold(delivery::Unreadable::test_data));
}

BOOST_AUTO_TEST_CASE(a_stale_owner_changes_nothing) {
  queue_one();
  const auto stale = claim_one();
  session.update("UPDATE entregas SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  const auto owner = claim_one({2, Milliseconds(60000)});
  BOOST_CHECK_EQUAL(owner.failures, 0U);  // an unknown outcome does not advance the schedule
  const auto result = record_results(session, {failed_attempt(stale, Milliseconds(1))}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(result.stale.size(), 1U);
  BOOST_CHECK_EQUAL(only().state, "en_curso");
  BOOST_CHECK(list_attempts(session, stale.id).empty());
  record_results(session, {delivered(owner)}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(only().state, "entregada");
}

BOOST_AUTO_TEST_CASE(a_batch_with_a_stale_owner_changes_only_what_is_its_own) {
  queue_one();
  queue_one();
  auto leased = claim_some(2);
  BOOST_REQUIRE_EQUAL(leased.size(), 2U);
  session.update("UPDATE entregas SET arriendo = 999 WHERE id = ?", leased[0].id);
  const auto result =
      record_results(session, {delivered(leased[0]), delivered(leased[1])}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(result.stale.size(), 1U);
  BOOST_CHECK(list_attempts(session, leased[0].id).empty());
  BOOST_CHECK_EQUAL(list_attempts(session, leased[1].id).size(), 1U);
  BOOST_CHECK_EQUAL(queue_status(session).in_flight, 1);
}

BOOST_AUTO_TEST_CASE(a_429_rests_and_a_failure_probes) {
  insert_notification(session, 1);
  queue_one();
  auto delivery_result = failed_attempt(claim_one(), Milliseconds(1));
  delivery_result.status = 429;
  delivery_result.one_at_a_time = true;
  delivery_result.rest = Milliseconds(60000);
  record_results(session, {delivery_result}, {Milliseconds(0)});
  BOOST_CHECK_GT(load_receiving(session, {webhook.id}).at(0).rest.count(), 50000);
  const auto subscriber = load_recipients(session, {1}).at(1).webhooks.at(0);
  BOOST_CHECK(subscriber.one_at_a_time && subscriber.resting && subscriber.backlog);
  session.update("UPDATE webhook_ejecuciones SET descansa_hasta = UTC_TIMESTAMP(3)");
  const auto receiving = load_receiving(session, {webhook.id}).at(0);
  BOOST_CHECK(receiving.one_at_a_time && receiving.rest.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_shorter_rest_does_not_end_a_longer_one) {
  for (const int minutes : {60, 1}) {
    queue_one();
    session.update("UPDATE webhook_ejecuciones SET descansa_hasta = descansa_hasta");
    auto delivery_result = failed_attempt(claim_one(), Milliseconds(3600000));
    delivery_result.rest = Milliseconds(minutes * 60000);
    record_results(session, {delivery_result}, {Milliseconds(0)});
  }
  const auto left = session.query(
      "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(3), descansa_hasta) AS minutes FROM webhook_ejecuciones");
  BOOST_CHECK_GE(left.at(0).integer("minutes"), 58);
}

BOOST_AUTO_TEST_CASE(a_410_deactivates) {
  queue_one();
  auto delivery_result = failed_attempt(claim_one(), Milliseconds(1));
  delivery_result.gone = true;
  BOOST_CHECK_EQUAL(record_results(session, {delivery_result}, {Milliseconds(0)}).deactivated.size(), 1U);
  BOOST_CHECK_EQUAL(*find_webhook(session, webhook.id)->inactive_reason, "http_410");
}

BOOST_AUTO_TEST_CASE(ten_failures_over_the_period_deactivate_and_a_success_forgets_them) {
  const auto fail = [&](int times) {
    std::vector<WebhookId> deactivated;
    for (int i = 0; i < times; ++i) {
      session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
      deactivated =
          record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, {Milliseconds(3600000)})
              .deactivated;
    }
    return deactivated;
  };
  const auto age_streak = [&] {
    session.update(
        "UPDATE webhook_ejecuciones SET fallos_desde = fallos_desde - INTERVAL 2 HOUR WHERE fallos > 0");
  };
  queue_one();
  BOOST_CHECK(fail(10).empty());  // ten failures, but within the hour
  record_results(session, {delivered(claim_one())}, {Milliseconds(3600000)});
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 0);
  queue_one();
  fail(8);
  age_streak();
  BOOST_CHECK(fail(1).empty());  // the streak is old enough, but has nine failures
  BOOST_CHECK_EQUAL(fail(1).size(), 1U);
  BOOST_CHECK_EQUAL(*find_webhook(session, webhook.id)->inactive_reason, "fallos");
}

BOOST_AUTO_TEST_CASE(a_streak_starts_again_after_48_hours_without_an_attempt) {
  queue_one();
  record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, {Milliseconds(1)});
  session.update(
      "UPDATE webhook_ejecuciones SET fallos_ultimo = ultima_ejecucion - INTERVAL 49 HOUR, fallos = 20,"
      " fallos_desde = fallos_desde - INTERVAL 100 HOUR");
  BOOST_CHECK(record_results(session, {failed_attempt(claim_one(), Milliseconds(0))}, {Milliseconds(1)})
                  .deactivated.empty());
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 1);
}

BOOST_AUTO_TEST_CASE(test_events_do_not_count_for_deactivation) {
  queue_test_event(session, 1, webhook::Event::incidencia_cerrada, "{}");
  const auto leased = claim_one();
  BOOST_CHECK(leased.test);
  record_results(session, {failed_attempt(leased, Milliseconds(1))}, {Milliseconds(1)});
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 0);
}

namespace {

/// Checks that `count` results were not recorded, because another session holds a lock.
void check_held(const RecordSummary& summary, std::size_t count = 1) {
  BOOST_CHECK_EQUAL(summary.locked.size(), count);
  BOOST_CHECK(summary.waited.empty() && summary.stale.empty());
}

}  // namespace

BOOST_AUTO_TEST_CASE(results_for_locked_rows_are_left_without_waiting) {
  const auto other_webhook = add_webhook(session, 2);
  insert_notification(session, 2);
  for (int i = 0; i < 3; ++i) queue_one();
  const auto leased = claim_some(3);
  const auto free = claim(session, {{other_webhook.id, 1}}, long_lease).leased.deliveries.at(0);
  BOOST_CHECK(record_results(session, {delivered(leased[0])}, {Milliseconds(0)}).locked.empty());
  Session other = database.connect();
  const auto id = to_string(leased[1].id);
  const auto hook = to_string(webhook.id);
  auto gone = failed_attempt(leased[1], Milliseconds(1));
  gone.gone = true;
  const std::vector<std::pair<DeliveryResult, std::string>> held = {
      {delivered(leased[1]), "SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = " + hook + " FOR UPDATE"},
      {delivered(leased[1]), "SELECT 1 FROM entregas WHERE id = " + id + " FOR UPDATE"},
      {gone, "SELECT 1 FROM webhooks WHERE id = " + hook + " LOCK IN SHARE MODE"}};
  for (const auto& [delivery_result, sql] : held) {
    other.execute("START TRANSACTION");
    other.query(sql);
    check_held(record_results(session, {delivery_result}, {Milliseconds(0)}));
    BOOST_CHECK(list_attempts(session, leased[1].id).empty());
    other.execute("ROLLBACK");
  }
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas WHERE id = " + id + " FOR UPDATE");
  check_held(record_results(session, {delivered(leased[1]), delivered(leased[2]), delivered(free)},
                            {Milliseconds(0)}));
  BOOST_CHECK_EQUAL(list_attempts(session, leased[2].id).size(), 1U);
  BOOST_CHECK_EQUAL(list_attempts(session, free.id).size(), 1U);
  other.execute("ROLLBACK");
  BOOST_CHECK(record_results(session, {delivered(leased[1])}, {Milliseconds(0)}).locked.empty());
  BOOST_CHECK_EQUAL(list_attempts(session, leased[1].id).size(), 1U);
}

BOOST_AUTO_TEST_CASE(a_share_lock_on_the_webhook_does_not_delay_a_result) {
  queue_one();
  Session other = database.connect();
  const auto leased = claim_one();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhooks LOCK IN SHARE MODE");
  BOOST_CHECK(
      record_results(session, {failed_attempt(leased, Milliseconds(1))}, {Milliseconds(1)}).locked.empty());
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(an_uncommitted_execution_row_delays_its_result) {
  queue_one();
  const auto leased = claim_some(1);
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.update("INSERT INTO webhook_ejecuciones (webhook_id, ultimo_error) VALUES (?, '')", webhook.id);
  check_held(record_results(session, {delivered(leased[0])}, {Milliseconds(0)}));
  other.execute("ROLLBACK");
  BOOST_CHECK(record_results(session, {delivered(leased[0])}, {Milliseconds(0)}).locked.empty());
  BOOST_CHECK_EQUAL(only().state, "entregada");
}

// A batch with a failure reads the executions, and another statement writes them. The row of a first success
// is missing then, so its insertion meets the other session's lock of the gap, and must not wait for it.
BOOST_AUTO_TEST_CASE(a_locked_gap_delays_only_a_first_success_in_a_batch_with_a_failure) {
  const auto other_webhook = add_webhook(session, 2);
  session.update("INSERT INTO webhook_ejecuciones (webhook_id) VALUES (?)", webhook.id);
  insert_notification(session, 2);
  queue_one();
  const auto failed = failed_attempt(claim_one(), Milliseconds(1));
  const auto success = delivered(claim(session, {{other_webhook.id, 1}}, long_lease).leased.deliveries.at(0));
  Session other = database.connect();
  other.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = ? FOR UPDATE", success.webhook);
  const auto summary = record_results(session, {failed, success}, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(summary.locked.size() + summary.waited.size(), 1U);
  if (session.is_mariadb()) BOOST_CHECK(summary.waited.empty());
  BOOST_CHECK_EQUAL(list_attempts(session, failed.id).size(), 1U);
  BOOST_CHECK(list_attempts(session, success.id).empty());
  other.execute("COMMIT");
  BOOST_CHECK(record_results(session, {success}, {Milliseconds(0)}).locked.empty());
  BOOST_CHECK_EQUAL(list_attempts(session, success.id).size(), 1U);
}

BOOST_AUTO_TEST_CASE(missing_executions_are_made_and_locked) {
  const auto first = webhook.id;
  const auto second = add_webhook(session, 2).id;
  session.update("INSERT INTO webhook_ejecuciones (webhook_id, ultimo_error) VALUES (?, 'HTTP 500')", second);
  Session other = database.connect();
  transaction(session, [&] {
    const auto executions = lock_executions(session, {first, second});
    BOOST_CHECK((executions.at(first) == delivery::Execution{}));
    BOOST_CHECK_EQUAL(executions.at(second).error, "HTTP 500");
    BOOST_CHECK(other.query("SELECT 1 FROM webhook_ejecuciones FOR UPDATE SKIP LOCKED").empty());
  });
  BOOST_CHECK_EQUAL(session.query("SELECT 1 FROM webhook_ejecuciones").size(), 2U);
}

BOOST_AUTO_TEST_CASE(an_execution_row_being_deleted_delays_only_its_result) {
  std::vector<DeliveryResult> delivery_results;
  for (int entity = 2; entity < 6; ++entity) {
    const auto hook = add_webhook(session, entity);
    insert_notification(session, entity);
    fan_out(session);
    delivery_results.push_back(delivered(claim(session, {{hook.id, 1}}, long_lease).leased.deliveries.at(0)));
  }
  session.update("INSERT INTO webhook_ejecuciones (webhook_id) VALUES (?)", delivery_results[1].webhook);
  Session other = database.connect();
  other.execute("START TRANSACTION");
  // Not committed: record_results() does not see the deleted row, but meets its lock.
  other.execute("DELETE FROM webhook_ejecuciones");
  const auto summary = record_results(session, delivery_results, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(summary.locked.size() + summary.waited.size(), 1U);
  for (const auto i : {0U, 2U, 3U})
    BOOST_CHECK_EQUAL(list_attempts(session, delivery_results[i].id).size(), 1U);
  BOOST_CHECK(list_attempts(session, delivery_results[1].id).empty());
  other.execute("ROLLBACK");
  BOOST_CHECK(record_results(session, {delivery_results[1]}, {Milliseconds(0)}).locked.empty());
}

/// The result is recorded at once; the deactivation waits for the next failure.
BOOST_AUTO_TEST_CASE(a_locked_failing_webhook_is_deactivated_later) {
  queue_one();
  const auto fail = [&] {
    session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
    return failed_attempt(claim_one(), Milliseconds(0));
  };
  record_results(session, {fail()}, {Milliseconds(1)});
  session.update(
      "UPDATE webhook_ejecuciones SET fallos = 20, fallos_desde = UTC_TIMESTAMP(3) - INTERVAL 1 HOUR");
  const auto failure = fail();
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhooks FOR UPDATE");
  const auto summary = record_results(session, {failure}, {Milliseconds(1)});
  BOOST_CHECK(summary.locked.empty() && summary.deactivated.empty());
  BOOST_CHECK_EQUAL(only().attempts, 2);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(record_results(session, {fail()}, {Milliseconds(1)}).deactivated.size(), 1U);
}

/// record_results() may read with READ UNCOMMITTED. Later statements of the session must not.
BOOST_AUTO_TEST_CASE(recording_leaves_the_isolation_of_the_session_as_it_is) {
  queue_one();
  // The first result of the webhook adds its row to webhook_ejecuciones.
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.execute("INSERT INTO entidades (id, nombre) VALUES (99, 'e')");
  queue_one();
  record_results(session, {delivered(claim_one())}, {Milliseconds(0)});
  BOOST_CHECK(session.query("SELECT id FROM entidades WHERE id = 99").empty());
  other.execute("ROLLBACK");
}

// Another dispatcher has claimed our deliveries again, all under one new token. Our results are stale, and
// delay no other result.
BOOST_AUTO_TEST_CASE(results_of_deliveries_claimed_again_under_another_lease_are_stale) {
  for (int i = 0; i < 3; ++i) queue_one();
  const auto ours = claim(session, {{webhook.id, 2}}, {11, Milliseconds(-1000)}).leased.deliveries;
  BOOST_REQUIRE_EQUAL(ours.size(), 2U);
  BOOST_REQUIRE_EQUAL(recover_expired_leases(session, 10).count, 2U);
  const auto theirs = claim(session, {{webhook.id, 3}}, {12, Milliseconds(60'000)}).leased.deliveries;
  BOOST_REQUIRE_EQUAL(theirs.size(), 3U);
  std::vector<DeliveryResult> results{delivered(ours[0]), delivered(ours[1])};
  for (const auto& one : theirs) {
    if (one.id != ours[0].id && one.id != ours[1].id) results.push_back(delivered(one));
  }
  const auto summary = record_results(session, results, {Milliseconds(0)});
  BOOST_CHECK_EQUAL(summary.stale.size(), 2U);
  BOOST_CHECK_EQUAL(queue_status(session).in_flight, 2);
}

BOOST_AUTO_TEST_SUITE_END()
