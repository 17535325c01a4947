#include "dispatcher/schedule/early_webhooks.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(early_webhooks)

namespace {

using namespace std::chrono_literals;
using delivery::AttemptKind;
using dispatcher::EarlyWebhooks;
using platform::MonotonicTime;
using Reach = store::EarlyClaim::Reach;

const MonotonicTime start(1000s);
constexpr auto lease = 60s;

store::UtcTime at(std::chrono::seconds time) { return store::UtcTime(time); }
store::EarlyWebhook answering(delivery::WebhookId id, std::chrono::seconds since = 100s) {
  return {at(since), id, false};
}
store::EarlyWebhook failing(delivery::WebhookId id, std::chrono::seconds since = 100s) {
  return {at(since), id, true};
}
EarlyWebhooks make() { return EarlyWebhooks({.per_webhook = 3, .probes = 2, .lease = lease}); }

std::vector<delivery::WebhookId> ids(const std::vector<store::EarlyWebhook>& webhooks) {
  std::vector<delivery::WebhookId> result;
  for (const auto& webhook : webhooks) result.push_back(webhook.id);
  return result;
}
using Ids = std::vector<delivery::WebhookId>;

Reach more(delivery::WebhookId id, delivery::DeliveryId last) { return {id, last, true, false, {}}; }
Reach nothing(delivery::WebhookId id) { return {id, 0, false, false, {}}; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_recovery_is_returned_once) {
  auto early = make();
  early.found(answering(7), start);
  BOOST_TEST(ids(early.next(10, start)) == Ids{7});
  early.found(answering(7), start);  // the same recovery
  BOOST_TEST(early.next(10, start).empty());
  early.found(answering(7, 101s), start);
  BOOST_TEST(ids(early.next(10, start)) == Ids{7});
}

BOOST_AUTO_TEST_CASE(each_success_widens_a_recovery_up_to_its_limit) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  BOOST_TEST(early.room(7) == 1U);
  early.reached(more(7, 20), 1, start);
  BOOST_TEST(early.room(7) == 0U);
  BOOST_TEST(early.next(10, start).empty());  // the attempt in flight must end first
  early.ended(7, AttemptKind::early, true, start);
  BOOST_TEST(ids(early.next(10, start)) == Ids{7});
  BOOST_TEST(early.room(7) == 2U);
  BOOST_TEST(early.after(7) == 20);
  for (int i = 0; i < 10; ++i) early.ended(7, AttemptKind::early, true, start);
  BOOST_TEST(early.room(7) == 3U);
}

BOOST_AUTO_TEST_CASE(a_failure_stops_it_until_it_is_found_anew) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  early.reached(more(7, 20), 1, start);
  early.ended(7, AttemptKind::early, true, start);
  early.reached(more(7, 30), 1, start);
  early.failed(7, start);
  early.ended(7, AttemptKind::early, false, start);
  early.found(answering(7), start);  // the database was read before the failure was recorded
  BOOST_TEST(early.next(10, start).empty());
  early.found(answering(7, 130s), start);
  BOOST_TEST(ids(early.next(10, start)) == Ids{7});
  BOOST_TEST(early.after(7) == 0);
  BOOST_TEST(early.room(7) == 1U);  // the recovery begins again with one delivery
}

// The claimer may postpone a webhook that has failed since it was asked for.
BOOST_AUTO_TEST_CASE(a_postponed_failure_is_remembered_until_the_database_has_it) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  early.failed(7, start);
  early.postpone(7, start + 50ms);
  BOOST_TEST(early.next(10, start + 1s).empty());
  early.found(answering(7), start + 1s);  // the database was read before the failure was recorded
  BOOST_TEST(early.next(10, start + 1s).empty());
}

BOOST_AUTO_TEST_CASE(a_failed_recovery_is_forgotten) {
  auto early = make();
  early.found(answering(7), start);
  early.failed(7, start);
  BOOST_TEST(early.next(10, start + 10min).empty());
  BOOST_TEST(early.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_recovery_ends_when_nothing_waits_a_lease_later) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  BOOST_TEST(!early.reached(nothing(7), 0, start));
  BOOST_TEST(early.next(10, start + lease).empty());
  BOOST_TEST(ids(early.next(10, start + lease + 6s)) == Ids{7});
  BOOST_TEST(early.reached(nothing(7), 0, start + lease + 6s));
  BOOST_TEST(early.size() == 0U);
}

BOOST_AUTO_TEST_CASE(one_that_was_handed_back_is_looked_for_again_at_once) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  early.reached(nothing(7), 1, start);  // this reading leased the last delivery that waited
  BOOST_TEST(early.next(10, start + 1s).empty());
  early.ended(7, AttemptKind::early, false, start + 1s);
  BOOST_TEST(ids(early.next(10, start + 1s)) == Ids{7});
  early.reached(more(7, 20), 1, start + 1s);
  early.ended(7, AttemptKind::early, false, start + 2s);
  BOOST_TEST(early.after(7) == 0);  // the delivery that was handed back may come before delivery 20
}

BOOST_AUTO_TEST_CASE(a_recovery_continues_when_the_retry_after_has_passed) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  early.reached({7, 0, false, false, 20s}, 0, start);
  BOOST_TEST(early.next(10, start + 19s).empty());
  BOOST_TEST(ids(early.next(10, start + 20s)) == Ids{7});
}

BOOST_AUTO_TEST_CASE(a_recovery_goes_on_while_deliveries_are_passed_over) {
  for (const bool unreadable : {false, true}) {
    auto early = make();
    early.found(answering(7), start);
    auto now = start;
    auto page = more(7, 20);
    page.unreadable = unreadable;
    if (!unreadable) page.asked = 1h;
    for (int walk = 0; walk < 3; ++walk, now += lease + 6s) {
      BOOST_TEST(ids(early.next(10, now)) == Ids{7});
      BOOST_TEST(!early.reached(page, 0, now));
      BOOST_TEST(ids(early.next(10, now)) == Ids{7});
      BOOST_TEST(!early.reached(nothing(7), 0, now));
    }
    early.next(10, now);
    early.reached(nothing(7), 0, now);
    now += lease + 6s;
    early.next(10, now);
    BOOST_TEST(early.reached(nothing(7), 0, now));
  }
}

BOOST_AUTO_TEST_CASE(probes_have_a_limit_and_those_that_wait_longest_come_first) {
  auto early = make();
  early.found(failing(3, 103s), start);
  early.found(failing(1, 101s), start);
  early.found(failing(2, 102s), start);
  BOOST_TEST(early.next(10, start).empty());
  BOOST_TEST(ids(early.next_probes(10, start)) == (Ids{1, 2}));
  early.probing(1);
  early.probing(2);
  BOOST_TEST(early.next_probes(10, start).empty());
  early.ended(1, AttemptKind::probe, false, start);
  BOOST_TEST(ids(early.next_probes(10, start)) == Ids{3});
}

BOOST_AUTO_TEST_CASE(a_successful_probe_lets_a_recovery_begin) {
  auto early = make();
  early.found(failing(1), start);
  early.next_probes(10, start);
  early.probing(1);
  early.ended(1, AttemptKind::probe, true, start);
  early.found(answering(1, 102s), start);
  BOOST_TEST(ids(early.next(10, start)) == Ids{1});
  BOOST_TEST(early.next_probes(10, start).empty());
}

// The claimer postpones what it asks for, in case an exception ends the claim.
BOOST_AUTO_TEST_CASE(a_claim_that_was_made_undoes_the_postponement) {
  auto early = make();
  early.found(answering(7), start);
  early.next(10, start);
  early.postpone(7, start + 1s);
  BOOST_TEST(!early.reached(more(7, 20), 1, start));
  BOOST_TEST(early.next(10, start + 1s).empty());  // the attempt in flight must end first
  early.ended(7, AttemptKind::early, true, start);
  for (auto now = start; early.size() > 0; now += lease + 5s) {
    BOOST_TEST(ids(early.next(10, now)) == Ids{7});
    early.postpone(7, now + 1s);
    early.reached(nothing(7), 0, now);
  }
  BOOST_TEST(early.next(10, start + 1h).empty());
}

BOOST_AUTO_TEST_CASE(one_that_is_postponed_waits) {
  auto early = make();
  early.found(failing(1), start);
  early.found(answering(2), start);
  early.next_probes(10, start);
  early.next(10, start);
  early.postpone(1, start + 1s);
  early.postpone(2, start + 1s);
  BOOST_TEST((early.next_probes(10, start).empty() && early.next(10, start).empty()));
  BOOST_TEST(ids(early.next_probes(10, start + 1s)) == Ids{1});
  BOOST_TEST(ids(early.next(10, start + 1s)) == Ids{2});
}

BOOST_AUTO_TEST_CASE(postponed_probes_come_in_their_order_once_their_time_has_come) {
  auto early = make();
  for (const auto id : {1, 2, 3}) early.found(failing(id, std::chrono::seconds(100 + id)), start);
  early.postpone(1, start + 2s);
  early.postpone(2, start + 1s);
  BOOST_TEST(ids(early.next_probes(10, start)) == Ids{3});
  early.postpone(3, start + 1s);
  BOOST_TEST(early.next_probes(0, start + 1s).empty());
  early.postpone(2, start + 3s);  // although it had become due
  BOOST_TEST(ids(early.next_probes(10, start + 2s)) == (Ids{1, 3}));
  BOOST_TEST(ids(early.next_probes(10, start + 3s)) == Ids{2});
}

BOOST_AUTO_TEST_SUITE_END()
