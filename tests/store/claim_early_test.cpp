// Claims ahead of the schedule.
#include "lib/store/deliveries/claim_early.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using delivery::AttemptKind;
using platform::Milliseconds;
using namespace std::chrono_literals;

namespace {

constexpr FailurePolicy probing{Milliseconds(0), Milliseconds(900000)};

struct EarlyFixture : DeliveryFixture {
  /// Queues a delivery and records a failed attempt; the retry is 10 hours away.
  LeasedDelivery fail_one() {
    queue_one();
    const auto leased = claim_one();
    auto result = failed_attempt(leased, 10h);
    result.failures = 1;
    record_results(session, {result}, probing);
    return leased;
  }
  void succeed_one() {
    queue_one();
    record_results(session, {delivered(claim_one())}, probing);
  }
  std::vector<EarlyWebhook> found() { return find_early(session, UtcTime{}, 0, 10); }
  std::vector<DeliveryId> early(unsigned limit, DeliveryId after = 0) {
    std::vector<DeliveryId> ids;
    for (const auto& one : claim_early(session, {{webhook.id, limit, after}}, long_lease).leased.deliveries)
      ids.push_back(one.id);
    return ids;
  }
  /// Gives the delivery an event that only a newer release knows.
  void make_unknown(DeliveryId id) {
    session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT evento_no_es_uno_de_los_11");
    session.update(
        "UPDATE entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id"
        " SET e.evento = 'evento.nuevo', n.evento = 'evento.nuevo' WHERE e.id = ?",
        id);
  }
  void make_probe_due() {
    session.update("UPDATE webhook_ejecuciones SET adelantar_en = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  }
};

using Ids = std::vector<DeliveryId>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(early_claims, EarlyFixture)

BOOST_AUTO_TEST_CASE(a_success_after_failures_is_found_and_a_success_alone_is_not) {
  succeed_one();
  BOOST_TEST(found().empty());
  fail_one();
  BOOST_TEST(found().empty());  // the probe is due in a quarter of an hour
  succeed_one();
  BOOST_REQUIRE_EQUAL(found().size(), 1U);
  BOOST_CHECK(found()[0].id == webhook.id && !found()[0].failing);
  const auto since = found()[0].since;
  succeed_one();
  BOOST_CHECK(found().at(0).since == since);
  fail_one();
  BOOST_TEST(found().empty());
}

BOOST_AUTO_TEST_CASE(a_success_and_a_failure_in_one_batch_count_in_their_order) {
  for (const bool success_last : {true, false}) {
    queue_one();
    queue_one();
    const auto leased = claim_some(2);
    auto failure = failed_attempt(leased[0], 10h);
    failure.failures = 1;
    auto results = std::vector{failure, delivered(leased[1])};
    if (!success_last) std::swap(results[0], results[1]);
    record_results(session, results, probing);
    BOOST_CHECK_EQUAL(found().size(), success_last ? 1U : 0U);
  }
}

BOOST_AUTO_TEST_CASE(early_claims_take_the_oldest_first_and_once_per_step) {
  const Ids waiting{fail_one().id, fail_one().id, fail_one().id};
  queue_one();  // this delivery is due, so early claims do not take it
  BOOST_TEST(early(2) == (Ids{waiting[0], waiting[1]}));
  BOOST_TEST(early(2, waiting[1]) == Ids{waiting[2]});
  BOOST_TEST(early(2).empty());
}

BOOST_AUTO_TEST_CASE(a_failed_early_attempt_leaves_the_schedule_as_it_was) {
  const auto id = fail_one().id;
  const auto before = find_delivery(session, id)->next_attempt;
  const auto leased = claim_early(session, {{webhook.id, 1}}, long_lease).leased.deliveries.at(0);
  BOOST_CHECK(leased.kind == AttemptKind::early && leased.failures == 1U);
  auto result = failed_attempt(leased, 0ms);
  result.wait.reset();
  result.failures = leased.failures;
  record_results(session, {result}, probing);
  const auto after = find_delivery(session, id).value();
  BOOST_CHECK(after.next_attempt == before);
  BOOST_CHECK_EQUAL(after.attempts, 2);
  BOOST_CHECK_EQUAL(list_attempts(session, id).back().kind, "adelantado");
  BOOST_TEST(early(1).empty());
  // The next step of the schedule allows another early attempt.
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  auto step = failed_attempt(claim_one(), 10h);
  step.failures = 2;
  record_results(session, {step}, probing);
  BOOST_TEST(early(1) == Ids{id});
}

BOOST_AUTO_TEST_CASE(a_released_or_expired_early_claim_keeps_its_next_attempt) {
  const auto id = fail_one().id;
  const auto before = find_delivery(session, id)->next_attempt;
  const auto leased = claim_early(session, {{webhook.id, 1}}, long_lease).leased.deliveries;
  BOOST_TEST(release_leases(session, leased).empty());
  BOOST_CHECK(find_delivery(session, id)->next_attempt == before);
  BOOST_TEST(early(1) == Ids{id});
  session.update("UPDATE entregas SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  BOOST_CHECK(find_delivery(session, id)->next_attempt == before);
  BOOST_TEST(early(1) == Ids{id});
}

BOOST_AUTO_TEST_CASE(an_attempt_that_does_not_count_leaves_all_but_the_error) {
  const auto id = fail_one().id;
  const auto execution = find_webhook(session, webhook.id)->last_execution;
  auto result =
      failed_attempt(claim_early(session, {{webhook.id, 1}}, long_lease).leased.deliveries.at(0), 0ms);
  result.wait.reset();
  result.counted = false;
  result.failures = 1;
  result.error = "El servicio se retrasa";
  record_results(session, {result}, probing);
  const auto shown = find_delivery(session, id).value();
  BOOST_CHECK(shown.attempts == 1 && shown.state == "pendiente" &&
              shown.last_error == "El servicio se retrasa");
  BOOST_CHECK(find_webhook(session, webhook.id)->last_execution == execution);
  BOOST_CHECK_EQUAL(list_attempts(session, id).size(), 1U);
  BOOST_TEST(early(1) == Ids{id});  // the delivery may be tried again
}

BOOST_AUTO_TEST_CASE(the_recovery_waits_for_the_retry_after_of_a_delivery) {
  queue_one();
  auto asked = failed_attempt(claim_one(), 10h);
  asked.failures = 1;
  asked.retry_after = 1h;
  record_results(session, {asked}, probing);
  const auto free = fail_one().id;
  const auto claimed = claim_early(session, {{webhook.id, 5}}, long_lease);
  BOOST_REQUIRE_EQUAL(claimed.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(claimed.leased.deliveries[0].id, free);
  BOOST_CHECK(claimed.reached[0].asked > 59min && claimed.reached[0].asked <= 1h);
}

BOOST_AUTO_TEST_CASE(a_probe_takes_the_longest_untried_delivery_once_per_interval) {
  const Ids waiting{fail_one().id, fail_one().id};
  session.update("UPDATE intentos_entrega SET inicio = inicio - INTERVAL 1 HOUR WHERE entrega_id = ?",
                 waiting[1]);
  make_probe_due();
  BOOST_REQUIRE_EQUAL(found().size(), 1U);
  BOOST_CHECK(found()[0].failing);
  const auto webhooks = found();
  const auto leased = claim_probes(session, webhooks, 15min, long_lease).leased.deliveries;
  BOOST_REQUIRE_EQUAL(leased.size(), 1U);
  BOOST_CHECK(leased[0].id == waiting[1] && leased[0].kind == AttemptKind::probe);
  BOOST_TEST(found().empty());
  // Another dispatcher that has found the same webhooks gets no delivery.
  BOOST_TEST(claim_probes(session, webhooks, 15min, long_lease).leased.deliveries.empty());
}

BOOST_AUTO_TEST_CASE(an_event_of_a_newer_version_takes_no_probe_from_the_others) {
  const Ids waiting{fail_one().id, fail_one().id};
  make_unknown(waiting[0]);
  session.update("UPDATE intentos_entrega SET inicio = inicio - INTERVAL 1 HOUR WHERE entrega_id = ?",
                 waiting[0]);
  make_probe_due();
  const auto leased = claim_probes(session, found(), 15min, long_lease).leased.deliveries;
  BOOST_REQUIRE_EQUAL(leased.size(), 1U);
  BOOST_CHECK(leased[0].id == waiting[1]);
}

BOOST_AUTO_TEST_CASE(a_probe_with_an_unknown_event_is_left_to_newer_versions) {
  make_unknown(fail_one().id);
  make_probe_due();
  const auto due = found();
  const auto claimed = claim_probes(session, due, 15min, long_lease);
  BOOST_CHECK(claimed.leased.deliveries.empty());
  BOOST_TEST((claimed.left == std::vector{webhook.id}));
  BOOST_CHECK(found() == due);
}

BOOST_AUTO_TEST_CASE(a_recovery_tells_what_it_leaves_to_a_newer_version) {
  const Ids waiting{fail_one().id, fail_one().id};
  make_unknown(waiting[0]);
  const auto claimed = claim_early(session, {{webhook.id, 5}}, long_lease);
  BOOST_REQUIRE_EQUAL(claimed.leased.deliveries.size(), 1U);
  BOOST_CHECK(claimed.leased.deliveries[0].id == waiting[1]);
  BOOST_CHECK(claimed.reached[0].unreadable);
  BOOST_CHECK(!claim_early(session, {{webhook.id, 5, waiting[0]}}, long_lease).reached[0].unreadable);
}

BOOST_AUTO_TEST_CASE(a_probe_that_was_not_started_is_due_again_at_once) {
  fail_one();
  make_probe_due();
  const auto leased = claim_probes(session, found(), 15min, long_lease).leased.deliveries;
  BOOST_TEST(found().empty());
  BOOST_TEST(release_leases(session, leased).empty());
  BOOST_CHECK_EQUAL(claim_probes(session, found(), 15min, long_lease).leased.deliveries.size(), 1U);
}

BOOST_AUTO_TEST_CASE(nothing_is_probed_of_a_webhook_of_which_nothing_waits) {
  fail_one();
  session.update("UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3)");
  make_probe_due();
  BOOST_TEST(claim_probes(session, found(), 15min, long_lease).leased.deliveries.empty());
  BOOST_TEST(session.query("SELECT 1 FROM webhook_ejecuciones WHERE adelantar_en IS NOT NULL").empty());
}

BOOST_AUTO_TEST_CASE(failed_probes_count_for_nothing_and_the_first_and_the_last_are_kept) {
  const auto id = fail_one().id;
  for (int i = 0; i < 4; ++i) {
    make_probe_due();
    const auto leased = claim_probes(session, found(), 15min, long_lease).leased.deliveries.at(0);
    auto result = failed_attempt(leased, 0ms);
    result.wait.reset();
    result.failures = leased.failures;
    record_results(session, {result}, {Milliseconds(1), 15min});
  }
  const auto attempts = list_attempts(session, id);
  BOOST_REQUIRE_EQUAL(attempts.size(), 3U);
  BOOST_CHECK_EQUAL(attempts[1].number, 2);
  BOOST_CHECK_EQUAL(attempts[2].number, 5);
  BOOST_CHECK_EQUAL(*attempts[2].probes, 4);
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 1);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->attempts, 5);
}

BOOST_AUTO_TEST_CASE(early_claims_skip_locked_rows) {
  const auto id = fail_one().id;
  succeed_one();
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas WHERE id = ? FOR UPDATE", id);
  BOOST_TEST(early(1).empty());
  other.execute("ROLLBACK");
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhook_ejecuciones FOR UPDATE");
  BOOST_TEST(change_early(session, {{found().at(0), std::nullopt}}).empty());
  other.execute("ROLLBACK");
  BOOST_TEST(change_early(session, {{found().at(0), std::nullopt}}).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
