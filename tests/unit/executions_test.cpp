// What results say about their webhook: the last execution and the failure streak.
#include "lib/delivery/executions.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace delivery;
using namespace std::chrono_literals;
using platform::Milliseconds;
using platform::UtcTime;

namespace {

const UtcTime now{std::chrono::days(20'000)};
constexpr Milliseconds probe_interval = 15min;

DeliveryResult result(DeliveryState state, AttemptKind kind = AttemptKind::scheduled) {
  DeliveryResult made;
  made.webhook = 7;
  made.state = state;
  made.kind = kind;
  made.started = now - 1s;
  made.status = state == DeliveryState::delivered ? 200 : 500;
  made.error = state == DeliveryState::delivered ? "" : "HTTP 500";
  return made;
}
const auto success = result(DeliveryState::delivered);
const auto failure = result(DeliveryState::pending);
const auto failed_probe = result(DeliveryState::pending, AttemptKind::probe);

Execution after_all(const Execution& before, const std::vector<DeliveryResult>& results, UtcTime at = now,
                    Milliseconds interval = probe_interval) {
  std::vector<const DeliveryResult*> batch;
  for (const auto& one : results) batch.push_back(&one);
  const auto by_webhook = results_by_webhook(batch);
  BOOST_REQUIRE_EQUAL(by_webhook.size(), 1U);
  return after(before, by_webhook.begin()->second, at, interval);
}

Execution failing(std::uint32_t failures, UtcTime since = now - 24h, UtcTime last = now - 1h) {
  return {.started = last - 1s,
          .status = 500,
          .error = "HTTP 500",
          .failures = failures,
          .failing_since = since,
          .last_failure = last,
          .ahead_from = now - 5min};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(executions)

BOOST_AUTO_TEST_CASE(the_first_success_is_the_last_execution) {
  const auto made = after_all({}, {success});
  BOOST_TEST((made == Execution{.started = success.started, .status = 200}));
}

BOOST_AUTO_TEST_CASE(what_a_sandbox_kept_from_being_sent_is_no_failure) {
  auto unsent = success;
  unsent.status.reset();
  unsent.error = "Entorno de pruebas: no se ha enviado";
  BOOST_TEST((after_all({}, {unsent}) == Execution{.started = success.started}));
  BOOST_TEST(after_all(failing(3), {unsent}).failures == 0U);
}

BOOST_AUTO_TEST_CASE(failures_begin_a_streak_and_lengthen_it) {
  const auto first = after_all({}, {failure, failure});
  BOOST_TEST(first.failures == 2U);
  BOOST_TEST((first.failing_since == now && first.last_failure == now));
  BOOST_TEST((first.ahead_from == now + probe_interval));
  const auto second = after_all(first, {failure}, now + 1h);
  BOOST_TEST(second.failures == 3U);
  BOOST_TEST((second.failing_since == now && second.last_failure == now + 1h));
  BOOST_TEST(second.error == "HTTP 500");
}

BOOST_AUTO_TEST_CASE(a_success_ends_the_streak_and_begins_a_recovery_once) {
  const auto made = after_all(failing(12), {success});
  BOOST_TEST(made.failures == 0U);
  BOOST_TEST(!made.failing_since.has_value());
  BOOST_TEST(made.error.empty());
  BOOST_TEST((made.ahead_from == now));
  BOOST_TEST((after_all(made, {success}, now + 1h).ahead_from == now));
}

BOOST_AUTO_TEST_CASE(the_order_within_a_batch_counts) {
  const auto recovered = after_all(failing(12), {failure, success});
  BOOST_TEST(recovered.failures == 0U);
  BOOST_TEST((recovered.ahead_from == now));
  const auto again = after_all(failing(12), {success, failure});
  BOOST_TEST(again.failures == 1U);
  BOOST_TEST((again.failing_since == now));
  BOOST_TEST((after_all({}, {failure, success}).ahead_from == now));
}

BOOST_AUTO_TEST_CASE(probes_and_tests_do_not_count_but_are_the_last_execution) {
  auto failed_test = failure;
  failed_test.test = true;
  failed_test.one_at_a_time = true;
  for (const auto& one : {failed_probe, failed_test}) {
    BOOST_TEST(after_all({}, {one}).failures == 0U);
    const auto made = after_all(failing(3), {one});
    BOOST_TEST(made.failures == 3U);
    BOOST_TEST((made.last_failure == now - 1h));
    BOOST_TEST((made.started == one.started && made.one_at_a_time == one.one_at_a_time));
  }
  auto good_test = success;
  good_test.test = true;
  const auto made = after_all(failing(3), {good_test});
  BOOST_TEST(made.failures == 3U);
  BOOST_TEST(made.error.empty());
  BOOST_TEST((made.ahead_from == now));
}

BOOST_AUTO_TEST_CASE(a_streak_ends_after_48_hours_without_a_failure_that_counts) {
  const auto goes_on = failing(3, now - 100h, now - 48h + 1ms);
  BOOST_TEST(after_all(goes_on, {failed_probe}).failures == 3U);
  BOOST_TEST(after_all(goes_on, {failure}).failures == 4U);
  const auto over = failing(3, now - 100h, now - 48h);
  BOOST_TEST(after_all(over, {failed_probe}).failures == 0U);
  const auto made = after_all(over, {failure});
  BOOST_TEST(made.failures == 1U);
  BOOST_TEST((made.failing_since == now));
  // An earlier release wrote no time of the last failure.
  auto earlier = failing(3);
  earlier.last_failure.reset();
  BOOST_TEST(after_all(earlier, {failure}).failures == 4U);
  earlier.started = now - 49h;
  BOOST_TEST(after_all(earlier, {failure}).failures == 1U);
}

BOOST_AUTO_TEST_CASE(a_streak_whose_begin_cannot_be_read_begins_anew) {
  auto unreadable = failing(3);
  unreadable.failing_since.reset();
  const auto made = after_all(unreadable, {failed_probe});
  BOOST_TEST(made.failures == 0U);
  BOOST_TEST((after_all(unreadable, {failure}).failing_since == now));
}

BOOST_AUTO_TEST_CASE(a_rest_is_lengthened_and_never_shortened) {
  auto held = result(DeliveryState::held);
  held.rest = 1h;
  const auto made = after_all(failing(3), {held});
  auto expected = failing(3);
  expected.rests_until = now + 1h;
  BOOST_TEST((made == expected));
  BOOST_TEST((after_all(made, {success}).rests_until == now + 1h));
  held.rest = 1min;
  BOOST_TEST((after_all(made, {held}).rests_until == now + 1h));
  BOOST_TEST((after_all(made, {held}, now + 2h).rests_until == now + 2h + 1min));
}

BOOST_AUTO_TEST_CASE(a_probe_waits_for_the_interval_or_for_a_longer_rest) {
  BOOST_TEST(!after_all({}, {failure}, now, 0ms).ahead_from.has_value());
  auto asked_to_wait = failure;
  asked_to_wait.rest = 2h;
  BOOST_TEST((after_all({}, {asked_to_wait}).ahead_from == now + 2h));
  asked_to_wait.rest = 1s;
  BOOST_TEST((after_all({}, {asked_to_wait}).ahead_from == now + probe_interval));
}

BOOST_AUTO_TEST_CASE(the_counter_stays_at_its_end) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  BOOST_TEST(after_all(failing(most), {failure}).failures == most);
  BOOST_TEST(after_all(failing(most - 1), {failure, failure}).failures == most);
}

BOOST_AUTO_TEST_CASE(results_of_an_outage_or_of_a_former_url_say_nothing_about_the_webhook) {
  auto uncounted = failure;
  uncounted.counted = false;
  auto former = failure;
  former.former_url = true;
  BOOST_TEST(results_by_webhook({&uncounted, &former}).empty());
}

BOOST_AUTO_TEST_CASE(only_batches_of_plain_successes_need_no_read) {
  const auto only_succeeded = [](const std::vector<const DeliveryResult*>& batch) {
    return results_by_webhook(batch).begin()->second.only_succeeded();
  };
  auto held = result(DeliveryState::held);
  held.rest = 1h;
  auto good_test = success;
  good_test.test = true;
  BOOST_TEST(only_succeeded({&success, &success}));
  BOOST_TEST(!only_succeeded({&failure, &success}));
  BOOST_TEST(!only_succeeded({&success, &failed_probe}));
  BOOST_TEST(!only_succeeded({&success, &held}));
  BOOST_TEST(!only_succeeded({&good_test}));
}

BOOST_AUTO_TEST_SUITE_END()
