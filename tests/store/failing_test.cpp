// Failing webhooks: since when they fail, and whether the predicted time of their deactivation is right.
#include "lib/store/webhooks/failing.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/store/outages/outages.hpp"
#include "lib/store/webhooks/changes.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using platform::Milliseconds;

namespace {

constexpr Milliseconds disable_after = 100h;

struct Fixture : DeliveryFixture {
  Webhook second = add_webhook(session, 2);

  /// Records a failure of a delivery of the first webhook; returns the webhooks that the failure deactivates.
  std::vector<WebhookId> fail(delivery::AttemptKind kind = delivery::AttemptKind::scheduled) {
    session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
    auto result = failed_attempt(claim_one(), 0ms);
    result.kind = kind;
    return record_results(session, {result}, {disable_after}).deactivated;
  }
  void fail_times(int times) {
    for (int i = 0; i < times; ++i) BOOST_TEST(fail().empty());
  }
  /// Writes a streak of `failures`: the first was `first` ago, the last `last` ago.
  void set_streak(WebhookId id, int failures, Milliseconds first, Milliseconds last = 0ms) {
    session.update(
        "INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, fallos,"
        " fallos_desde, fallos_ultimo) VALUES (?, UTC_TIMESTAMP(3), 500, 'e', ?,"
        " UTC_TIMESTAMP(3) - INTERVAL ? SECOND, UTC_TIMESTAMP(3) - INTERVAL ? SECOND)"
        " ON DUPLICATE KEY UPDATE fallos = VALUES(fallos), fallos_desde = VALUES(fallos_desde),"
        " fallos_ultimo = VALUES(fallos_ultimo)",
        id, failures, std::int64_t{first / 1s}, std::int64_t{last / 1s});
  }
  void add_outage(Milliseconds from, Milliseconds to) {
    update_outage(session, begin_outage(session, "here:1", OutageKind::network, from), 3, to);
  }
  std::optional<FailureStreak> streak(Milliseconds after = disable_after) {
    return find_failure_streak(session, webhook.id, after);
  }
  UtcTime now() { return read_outages(session, UtcTime{}).now(); }
  std::vector<WebhookId> failing(const ListFilter& filter = {}) {
    std::vector<WebhookId> ids;
    for (const auto& hook : list_failing_webhooks(session, filter, disable_after)) ids.push_back(hook.id);
    return ids;
  }
  void check_near(std::int64_t half, std::int64_t nine_tenths) {
    const auto near = count_near_deactivation(session, disable_after);
    BOOST_REQUIRE(near.has_value());
    BOOST_TEST(near->half == half);
    BOOST_TEST(near->nine_tenths == nine_tenths);
  }
};

/// Equal except for the seconds that a test takes.
bool about(UtcTime time, UtcTime expected) { return std::chrono::abs(time - expected) < Milliseconds(1min); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(failing_webhooks, Fixture)

BOOST_AUTO_TEST_CASE(a_streak_begins_with_its_first_failure_and_is_told_its_end_from_the_tenth_on) {
  queue_one();
  BOOST_TEST(!streak());
  fail_times(9);
  const auto ninth = streak();
  BOOST_TEST_REQUIRE(ninth.has_value());
  BOOST_TEST(ninth->failures == 9);
  BOOST_CHECK(about(ninth->since, now()));
  BOOST_TEST(!ninth->deactivation);
  fail_times(1);
  BOOST_CHECK(streak()->deactivation == ninth->since + disable_after);
  BOOST_TEST(!streak(0ms)->deactivation);  // 0: no webhook is deactivated
}

BOOST_AUTO_TEST_CASE(probes_and_test_events_neither_begin_nor_prolong_a_streak) {
  queue_one();
  fail(delivery::AttemptKind::probe);
  BOOST_TEST(!streak());
  fail_times(1);
  fail(delivery::AttemptKind::probe);
  BOOST_TEST(fail(delivery::AttemptKind::early).empty());
  BOOST_TEST(streak()->failures == 2);
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR");
  queue_test_event(session, 1, webhook::Event::incidencia_cerrada, "{}");
  const auto leased = claim_one();
  BOOST_TEST_REQUIRE(leased.test);
  record_results(session, {failed_attempt(leased, 1h)}, {disable_after});
  BOOST_TEST(streak()->failures == 2);
}

BOOST_AUTO_TEST_CASE(a_success_an_enabling_or_two_silent_days_end_a_streak) {
  queue_one();
  fail_times(2);
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  record_results(session, {delivered(claim_one())}, {disable_after});
  BOOST_TEST(!streak());
  set_streak(webhook.id, 20, 90h);
  enable_webhook(session, webhook.id, false);
  BOOST_TEST(!streak());
  set_streak(webhook.id, 20, 90h, 47h);
  BOOST_TEST(streak().has_value());
  set_streak(webhook.id, 20, 90h, 49h);
  BOOST_TEST(!streak());
  BOOST_TEST(failing().empty());
  check_near(0, 0);
}

// An earlier release did not record the time of the last failure.
BOOST_AUTO_TEST_CASE(without_a_last_failure_the_last_execution_stands_for_it) {
  set_streak(webhook.id, 20, 90h);
  session.update("UPDATE webhook_ejecuciones SET fallos_ultimo = NULL");
  BOOST_TEST(streak().has_value());
  session.update("UPDATE webhook_ejecuciones SET ultima_ejecucion = UTC_TIMESTAMP(3) - INTERVAL 49 HOUR");
  BOOST_TEST(!streak());
}

// A failure a minute before the predicted time deactivates no webhook; a failure a minute after that time
// does.
BOOST_AUTO_TEST_CASE(the_moment_is_that_of_the_deactivation_outages_of_our_own_apart) {
  queue_one();
  fail_times(1);
  set_streak(webhook.id, 12, 109h + 59min);
  add_outage(200h, 150h);  // before the streak
  add_outage(106h, 102h);
  add_outage(50h, 46h);
  add_outage(48h, 44h);  // shares two hours with the outage above
  BOOST_CHECK(about(streak()->deactivation.value(), now() + 1min));
  BOOST_TEST(fail().empty());
  session.update("UPDATE webhook_ejecuciones SET fallos_desde = fallos_desde - INTERVAL 2 MINUTE");
  BOOST_CHECK(streak()->deactivation.value() < now());
  BOOST_TEST(fail().size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_inactive_or_deleted_webhook_is_not_deactivated) {
  set_streak(webhook.id, 20, 90h);
  BOOST_TEST(streak()->deactivation.has_value());
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_TEST(!streak()->deactivation);
  BOOST_TEST(failing().empty());
  check_near(0, 0);
  delete_webhook(session, {1}, webhook.id);
  BOOST_TEST(!streak());
  set_streak(second.id, 20, 90h);
  check_near(1, 1);
  delete_webhook(session, {2}, second.id);
  BOOST_TEST(failing().empty());
  check_near(0, 0);
  BOOST_TEST(!find_failure_streak(session, 999, disable_after));
}

// Records a failure again and again. In round n the entity changes the webhook just before the n-th statement
// of the recording. Each change that commits prevents the deactivation. The last round is the first in which
// the change has to wait for the lock of the deactivation.
BOOST_AUTO_TEST_CASE(a_webhook_that_its_entity_changes_during_the_record_is_not_deactivated) {
  queue_one();
  fail_times(1);
  Session of_entity(server(database.name), {.program_user = "root", .lock_wait_s = 1});
  const auto change = [&](int before) -> WebhookChange {
    if (before % 2 == 0) return {.active = true};
    return {.url = webhook.url + std::to_string(before)};
  };
  bool waited = false;
  for (int before = 1; !waited; ++before) {
    set_streak(webhook.id, 12, 110h);
    session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
    auto result = failed_attempt(claim_one(), 0ms);
    result.url = find_webhook(session, webhook.id)->url;
    int statements = 0;
    session.before_statements([&] {
      if (++statements != before) return;
      try {
        change_webhook(of_entity, {1}, webhook.id, change(before), [](const auto&) { return true; });
      } catch (const LockTimeout&) {
        waited = true;
      }
    });
    const auto deactivated = record_results(session, {result}, {disable_after}).deactivated.size();
    session.before_statements({});
    BOOST_TEST_REQUIRE(statements >= before);
    BOOST_TEST(deactivated == (waited ? 1U : 0U));
    session.update("UPDATE webhooks SET activo = TRUE, motivo = NULL");
    session.update("DELETE FROM cambios_webhook");
  }
}

BOOST_AUTO_TEST_CASE(a_clock_jump_forward_deactivates_no_webhook) {
  queue_one();
  fail_times(1);
  set_streak(webhook.id, 12, 110h);
  session.update("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) - INTERVAL 2 HOUR");  // a jump not yet noted
  BOOST_TEST(fail().empty());
  session.update("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3), salto_ms = 7200000");
  BOOST_TEST(fail().empty());
  session.update("UPDATE reloj_visto SET salto_ms = 0");
  BOOST_TEST(fail().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_doubted_clock_hides_all_deactivation_times) {
  set_streak(webhook.id, 20, 99h);
  check_near(1, 1);
  session.update("UPDATE reloj_visto SET salto_ms = 3600000");
  BOOST_TEST(!streak()->deactivation);
  BOOST_TEST(!list_failing_webhooks(session, {}, disable_after).at(0).streak.deactivation);
  BOOST_TEST(!count_near_deactivation(session, disable_after));
}

BOOST_AUTO_TEST_CASE(failing_webhooks_are_listed_by_soonest_deactivation) {
  const auto third = add_webhook(session, 2);
  const auto well = add_webhook(session, 3);
  set_streak(webhook.id, 12, 10h);
  set_streak(second.id, 3, 30h);
  set_streak(third.id, 12, 20h);
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion) VALUES (?, UTC_TIMESTAMP(3))", well.id);
  BOOST_TEST(failing() == (std::vector{second.id, third.id, webhook.id}), boost::test_tools::per_element());
  ListFilter filter;
  filter.limit = 1;
  BOOST_TEST(failing(filter) == std::vector{second.id}, boost::test_tools::per_element());
  filter = {};
  filter.entity = 2;
  BOOST_TEST(failing(filter) == (std::vector{second.id, third.id}), boost::test_tools::per_element());
  filter.webhook = third.id;
  const auto found = list_failing_webhooks(session, filter, disable_after);
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].entity == 2);
  BOOST_TEST(found[0].url == third.url);
  BOOST_TEST(found[0].streak.failures == 12);
  BOOST_TEST(found[0].last_status.value() == 500);
  BOOST_TEST(found[0].last_error == "e");
  BOOST_CHECK(found[0].streak.deactivation == found[0].streak.since + disable_after);
}

BOOST_AUTO_TEST_CASE(those_past_half_and_past_nine_tenths_are_counted) {
  check_near(0, 0);
  set_streak(webhook.id, 20, 49h);
  check_near(0, 0);
  set_streak(webhook.id, 20, 51h);
  check_near(1, 0);
  set_streak(second.id, 2, 91h);  // counted, although a deactivation needs ten failures
  check_near(2, 1);
  set_streak(webhook.id, 20, 500h);
  check_near(2, 2);
  add_outage(20h, 10h);
  check_near(2, 1);
  const auto never = count_near_deactivation(session, 0ms);
  BOOST_TEST(never->half == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(outage_times)

// Between so_long_ago(t) and now, t has passed apart from outages; so_long_ago(t) is the latest such moment.
BOOST_AUTO_TEST_CASE(so_long_ago_gives_the_latest_inverse_of_since) {
  const auto at = [](int minutes) { return UtcTime(std::chrono::minutes(minutes)); };
  const OutageTimes outages(
      {{at(50), at(60)}, {at(20), at(30)}, {at(25), at(40)}, {at(22), at(24)}, {at(90), at(200)}}, at(100));
  BOOST_CHECK(outages.since(at(0)) == 40min);
  BOOST_CHECK(outages.since(at(35)) == 25min);
  BOOST_CHECK(outages.since(at(95)) == 5min);
  BOOST_CHECK(outages.since(at(100)) == 0min);
  for (int passed = 0; passed <= 70; ++passed) {
    const auto moment = outages.so_long_ago(std::chrono::minutes(passed));
    BOOST_CHECK(outages.now() - moment - outages.since(moment) == std::chrono::minutes(passed));
    BOOST_CHECK(outages.now() - (moment + 1ms) - outages.since(moment + 1ms) < std::chrono::minutes(passed) ||
                passed == 0);
  }
  BOOST_CHECK(OutageTimes({}, at(100)).so_long_ago(30min) == at(70));
}

BOOST_AUTO_TEST_SUITE_END()
