#include "dispatcher/schedule/fair_slots.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(fair_slots)

namespace {

using namespace std::chrono_literals;
using delivery::WebhookId;
using dispatcher::Destination;
using dispatcher::FairSlots;
using End = FairSlots::End;

FairSlots with(unsigned total, unsigned per_webhook = 10, unsigned per_host = 10'000) {
  return FairSlots({.total = total, .per_webhook = per_webhook, .per_host = per_host, .longest = 15s});
}

/// Returns a destination with a host and an entity of this webhook alone. The entity's id equals
/// the webhook's.
Destination own(std::int64_t webhook, bool one_at_a_time = false) {
  return {webhook, webhook, "h" + std::to_string(webhook) + ":443", one_at_a_time};
}

void wait(FairSlots& slots, const Destination& destination) {
  slots.identify(destination);
  slots.wait(destination.webhook);
}

/// Takes up to `most` deliveries for the webhook. Returns how many it took.
unsigned take(FairSlots& slots, const Destination& destination, unsigned most = 1000) {
  slots.identify(destination);
  unsigned taken = 0;
  while (taken < most && slots.take(destination.webhook)) ++taken;
  return taken;
}

void end(FairSlots& slots, WebhookId webhook, End outcome = End::answered,
         platform::Milliseconds took = 5ms) {
  slots.ended(webhook, outcome, took);
  slots.recorded(webhook);
}

/// Makes the webhook's answer time known. Leaves the webhook waiting: an idle webhook would be forgotten,
/// with its account and answer time.
void know(FairSlots& slots, const Destination& destination, platform::Milliseconds took) {
  wait(slots, destination);
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE(slots.take(destination.webhook));
    end(slots, destination.webhook, End::answered, took);
  }
}

using Ids = std::vector<WebhookId>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_webhook_has_its_own_limit) {
  auto slots = with(100, 3);
  BOOST_TEST(take(slots, own(1)) == 3U);
  BOOST_TEST(take(slots, own(2)) == 3U);  // webhook 1 delays no other
  end(slots, 1);
  BOOST_TEST(take(slots, own(1)) == 1U);
}

BOOST_AUTO_TEST_CASE(all_together_have_a_limit) {
  auto slots = with(7, 10);
  BOOST_TEST(take(slots, own(1)) == 7U);
  BOOST_TEST(slots.full());
  BOOST_TEST(take(slots, own(2)) == 0U);
  end(slots, 1, End::answered, 13s);
  BOOST_TEST(take(slots, own(2)) == 1U);
}

BOOST_AUTO_TEST_CASE(limits_can_be_lowered_below_what_is_in_hand_and_raised_again) {
  auto slots = with(32);
  const FairSlots::Limits usual = slots.limits();
  auto few = usual;
  few.total = 4;
  few.per_host = 1;
  const auto at_one_host = [](std::int64_t webhook) { return Destination{webhook, webhook, "h:443", false}; };
  for (int webhook = 1; webhook <= 8; ++webhook) BOOST_TEST(take(slots, at_one_host(webhook), 1) == 1U);
  slots.limit(few);
  wait(slots, at_one_host(9));
  wait(slots, own(10));
  BOOST_TEST((slots.full() && slots.next(10).webhooks.empty()));
  for (int webhook = 1; webhook <= 7; ++webhook) end(slots, webhook);
  BOOST_TEST(slots.next(10).webhooks == Ids{10});  // webhook 8 still holds the one slot of webhook 9's host
  slots.limit(usual);
  BOOST_TEST(slots.next(10).webhooks.size() == 2U);
  BOOST_TEST(take(slots, at_one_host(9)) == 10U);
}

BOOST_AUTO_TEST_CASE(one_that_probes_has_one_in_flight) {
  auto slots = with(100);
  BOOST_TEST(take(slots, own(1, true)) == 1U);
  BOOST_TEST(take(slots, own(2), 3) == 3U);
  BOOST_TEST(take(slots, own(2, true)) == 0U);  // webhook 2 has begun to fail, with three attempts in flight
}

BOOST_AUTO_TEST_CASE(an_ended_attempt_counts_for_its_webhook_until_recorded) {
  auto slots = with(100, 1);
  BOOST_TEST(take(slots, own(1)) == 1U);
  slots.ended(1, End::answered, 5ms);
  BOOST_TEST(slots.in_hand() == 0U);
  BOOST_TEST(take(slots, own(1)) == 0U);
  slots.recorded(1);
  BOOST_TEST(take(slots, own(1)) == 1U);
}

BOOST_AUTO_TEST_CASE(a_failed_or_resting_webhook_starts_nothing_before_recording) {
  for (const auto outcome : {End::failed, End::asked_to_wait}) {
    auto slots = with(100);
    BOOST_TEST(take(slots, own(1), 2) == 2U);
    slots.ended(1, outcome, 5ms);
    BOOST_TEST(take(slots, own(1)) == 0U);
    slots.recorded(1);
    BOOST_TEST(take(slots, own(1)) == 9U);
  }
}

// If the webhook did not wait, the delivery would be claimed and handed back again and again.
BOOST_AUTO_TEST_CASE(a_webhook_that_handed_back_waits_until_an_attempt_ends) {
  auto slots = with(100, 3);
  BOOST_TEST(take(slots, own(1)) == 3U);
  slots.ended(1, End::not_started, 0ms);
  BOOST_TEST(take(slots, own(1)) == 0U);
  slots.recorded(1);
  end(slots, 1, End::not_started);
  BOOST_TEST(take(slots, own(1)) == 0U);
  end(slots, 1);
  BOOST_TEST(take(slots, own(1)) == 3U);
}

BOOST_AUTO_TEST_CASE(an_unsent_delivery_counts_only_for_its_webhook_s_limit) {
  auto slots = with(100, 1);
  slots.identify(own(1));
  slots.take_unsent(1);
  BOOST_TEST(slots.in_hand() == 0U);
  BOOST_TEST(take(slots, own(1)) == 0U);
  slots.recorded(1);
  BOOST_TEST(take(slots, own(1)) == 1U);
}

BOOST_AUTO_TEST_CASE(one_that_answers_quickly_is_given_several_for_a_slot) {
  auto slots = with(100);
  know(slots, own(1), 20ms);
  BOOST_TEST(take(slots, own(1)) == 10U);
  BOOST_TEST(slots.slots(1) == 2U);
  know(slots, own(2), 13s);
  BOOST_TEST(take(slots, own(2)) == 10U);
  BOOST_TEST(slots.slots(2) == 10U);
}

BOOST_AUTO_TEST_CASE(one_slow_answer_counts_for_a_quarter) {
  auto slots = with(100);
  know(slots, own(1), 20ms);
  BOOST_TEST(slots.take(1));
  end(slots, 1, End::answered, 120ms);  // 45 ms are expected now, so that a slot carries two
  BOOST_TEST(take(slots, own(1)) == 10U);
  BOOST_TEST(slots.slots(1) == 5U);
}

BOOST_AUTO_TEST_CASE(deliveries_queued_behind_slots_are_bounded_in_total) {
  auto slots = with(8, 1000);
  know(slots, own(1), 1ms);
  BOOST_TEST(take(slots, own(1)) <= 16U);
}

BOOST_AUTO_TEST_CASE(the_entity_with_the_least_use_is_next) {
  auto slots = with(100);
  for (const int webhook : {1, 2, 3, 4}) wait(slots, own(webhook));
  know(slots, own(1), 50ms);
  know(slots, own(2), 500ms);
  know(slots, own(3), 5ms);
  slots.stop_waiting(4);
  BOOST_TEST((slots.next(9).webhooks == Ids{3, 1, 2}));
  BOOST_TEST((slots.next(2).webhooks == Ids{3, 1}));
  slots.stop_waiting(1);
  BOOST_TEST((slots.next(9).webhooks == Ids{3, 2}));
}

BOOST_AUTO_TEST_CASE(entities_that_need_a_slot_leave_room_in_the_list_for_those_that_need_none) {
  auto slots = with(100);
  know(slots, own(1), 20ms);
  BOOST_TEST(slots.take(1));
  for (const int webhook : {2, 3, 4, 5}) wait(slots, own(webhook));
  BOOST_TEST((slots.next(4).webhooks == Ids{2, 3, 1}));
}

// `until` equals their account. If it excluded them, none of them would ever get a slot.
BOOST_AUTO_TEST_CASE(entities_with_equal_use_get_slots_even_if_not_all_fit_in_the_list) {
  auto slots = with(100);
  for (const int webhook : {1, 2, 3}) wait(slots, own(webhook));
  const auto candidates = slots.next(2);
  BOOST_TEST((candidates.webhooks == Ids{1, 2}));
  dispatcher::Grants grants(slots);
  const auto granted = dispatcher::share_out(slots, candidates, 10, grants);
  BOOST_TEST((granted == std::map<WebhookId, unsigned>{{1, 1}, {2, 1}}));  // and then it is webhook 3's turn
}

BOOST_AUTO_TEST_CASE(the_least_used_webhook_of_an_entity_is_next) {
  auto slots = with(100);
  const auto of_seven = [](WebhookId webhook) { return Destination{webhook, 7, "h:443"}; };
  for (const WebhookId webhook : {1, 2, 3}) wait(slots, of_seven(webhook));
  know(slots, of_seven(1), 500ms);
  know(slots, of_seven(2), 5ms);
  for (const WebhookId webhook : {3, 2, 1}) {
    BOOST_TEST((slots.next(9).webhooks == Ids{webhook}));
    slots.stop_waiting(webhook);
  }
}

BOOST_AUTO_TEST_CASE(the_last_slots_are_for_entities_that_hold_none_one_each) {
  auto slots = with(
      32, 40);  // an eighth of the 32 slots are the last slots, two of them for webhooks that are not known
  BOOST_TEST(take(slots, own(1)) == 28U);
  BOOST_TEST(take(slots, own(2)) == 1U);
  BOOST_TEST(take(slots, {3, 2, "h:443"}) == 0U);  // entity 2 holds a slot already
  BOOST_TEST(take(slots, own(4, true)) == 0U);     // webhook 4 is failing
  BOOST_TEST(take(slots, own(5)) == 1U);
  BOOST_TEST(take(slots, own(6)) == 0U);
  end(slots, 5);
  BOOST_TEST(take(slots, own(6)) == 1U);
}

BOOST_AUTO_TEST_CASE(a_broadcast_to_unknown_webhooks_leaves_slots_to_those_that_answer_quickly) {
  auto slots = with(32, 40);
  for (const int webhook : {101, 102, 103}) {
    know(slots, own(webhook), 5ms);
    slots.stop_waiting(webhook);
  }
  for (int webhook = 1; webhook <= 40; ++webhook) wait(slots, own(webhook));
  for (int webhook = 1; webhook <= 40; ++webhook) slots.take(webhook);
  BOOST_TEST(slots.counts().free() == 2U);
  BOOST_TEST(slots.next(9).webhooks.empty());
  BOOST_TEST((slots.take_new(own(101)) && slots.take_new(own(102))));
  BOOST_TEST(!slots.take_new(own(103)));  // it waits, and is next
  wait(slots, own(103));
  end(slots, 1, End::answered, 15s);
  BOOST_TEST(slots.next(1).webhooks == Ids{103}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_is_not_quick_gets_slots_beside_those_that_have_used_more) {
  auto slots = with(1);
  know(slots, own(1), 20ms);
  wait(slots, own(2));
  unsigned before = 0;
  for (; slots.next(1).webhooks == Ids{1} && before < 100; ++before) {
    BOOST_REQUIRE(slots.take(1));
    end(slots, 1, End::answered, 20ms);
  }
  BOOST_TEST((before >= 1 && before <= 6));
}

BOOST_AUTO_TEST_CASE(changed_limits_leave_an_eighth_for_the_last_slots_too) {
  auto slots = with(8, 20);
  auto limits = slots.limits();
  limits.total = 16;
  slots.limit(limits);
  BOOST_TEST(take(slots, own(1)) == 14U);
  BOOST_TEST(take(slots, own(2)) == 1U);
}

BOOST_AUTO_TEST_CASE(slow_webhooks_get_none_of_the_last_slots) {
  auto slots = with(16, 20);
  know(slots, own(2), 2s);
  BOOST_TEST(take(slots, own(3)) == 14U);
  BOOST_TEST(take(slots, own(2)) == 0U);
  BOOST_TEST(take(slots, own(1)) == 1U);
}

BOOST_AUTO_TEST_CASE(entities_far_above_the_least_use_get_none_of_the_last_slots) {
  auto slots = with(16, 20);
  wait(slots, own(1));
  // Webhook 1, which waits, has used no slot-time. Webhook 2 now uses a lot.
  for (int i = 0; i < 20; ++i) know(slots, own(2), 900ms);
  BOOST_TEST(take(slots, own(3)) == 14U);
  BOOST_TEST(take(slots, own(2)) == 0U);
  BOOST_TEST(take(slots, own(1)) == 1U);
}

BOOST_AUTO_TEST_CASE(a_new_delivery_does_not_overtake_who_waits_and_has_used_less) {
  auto slots = with(2, 10);
  wait(slots, own(2));
  know(slots, own(1), 500ms);
  slots.stop_waiting(1);
  BOOST_TEST(take(slots, own(3), 1) == 1U);
  BOOST_TEST(!slots.take_new(own(1)));  // the one free slot is for webhook 2, the one that waits
  BOOST_TEST(slots.take(2));
  end(slots, 3);
  slots.stop_waiting(2);
  BOOST_TEST(slots.take_new(own(1)));
}

BOOST_AUTO_TEST_CASE(a_new_delivery_does_not_overtake_who_waits_for_the_host_and_has_used_less) {
  auto slots = with(100, 10, 2);
  const auto at_host = [](std::int64_t webhook) { return Destination{webhook, webhook, "one:443"}; };
  wait(slots, at_host(2));
  know(slots, at_host(1), 500ms);
  for (const std::int64_t webhook : {3, 4}) BOOST_TEST(take(slots, at_host(webhook), 1) == 1U);
  end(slots, 3);
  BOOST_TEST(!slots.take_new(at_host(1)));  // the host's free slot is for webhook 2
  BOOST_TEST(slots.take(2));
  end(slots, 4);
  BOOST_TEST(slots.take_new(at_host(1)));
}

BOOST_AUTO_TEST_CASE(a_host_has_a_limit_and_an_entity_half_of_it) {
  auto slots = with(100, 10, 6);
  const auto at_host = [](WebhookId webhook, delivery::EntityId entity) {
    return Destination{webhook, entity, "one:443"};
  };
  BOOST_TEST(take(slots, at_host(1, 1)) == 3U);
  BOOST_TEST(take(slots, at_host(2, 1)) == 0U);
  BOOST_TEST(take(slots, at_host(3, 2)) == 3U);
  BOOST_TEST(take(slots, at_host(4, 3)) == 0U);
  BOOST_TEST(take(slots, own(5)) == 3U);
}

BOOST_AUTO_TEST_CASE(a_webhook_waiting_for_a_host_is_next_once_it_has_room) {
  auto slots = with(100, 10, 2);
  const auto at_host = [](std::int64_t webhook) { return Destination{webhook, webhook, "one:443"}; };
  BOOST_TEST(take(slots, at_host(1)) == 1U);
  BOOST_TEST(take(slots, at_host(2)) == 1U);
  for (const std::int64_t webhook : {3, 4, 5}) wait(slots, at_host(webhook));
  BOOST_TEST(slots.next(9).webhooks.empty());
  end(slots, 1);
  BOOST_TEST((slots.next(9).webhooks == Ids{3}));
  slots.stop_waiting(3);  // webhook 3 has nothing due after all
  BOOST_TEST((slots.next(9).webhooks == Ids{4}));
  BOOST_TEST(slots.take(4));
  end(slots, 2);
  BOOST_TEST((slots.next(9).webhooks == Ids{5}));
}

BOOST_AUTO_TEST_CASE(a_webhook_that_moves_waits_at_its_new_host) {
  auto slots = with(100, 10, 1);
  BOOST_TEST(take(slots, {1, 1, "old:443"}) == 1U);
  wait(slots, {2, 2, "old:443"});
  BOOST_TEST(slots.next(9).webhooks.empty());
  slots.identify({2, 2, "new:443"});
  BOOST_TEST((slots.next(9).webhooks == Ids{2}));
}

BOOST_AUTO_TEST_CASE(a_webhook_that_moves_frees_its_turn_at_the_old_host) {
  auto slots = with(100, 10, 1);
  BOOST_TEST(take(slots, {1, 1, "old:443"}) == 1U);
  for (const std::int64_t webhook : {2, 3}) wait(slots, {webhook, webhook, "old:443"});
  BOOST_TEST(slots.next(9).webhooks.empty());
  end(slots, 1);
  slots.identify({2, 2, "new:443"});  // webhook 2 was next at the old host
  BOOST_TEST((slots.next(9).webhooks == Ids{2, 3}));
}

BOOST_AUTO_TEST_CASE(a_slot_given_back_is_free_again) {
  auto slots = with(4, 4);
  wait(slots, own(1));
  {
    dispatcher::Grants grants(slots);
    BOOST_TEST(grants.take(1));
    BOOST_TEST(grants.take(1));
    grants.keep(1);
    BOOST_TEST(slots.in_hand() == 2U);
  }
  BOOST_TEST(slots.in_hand() == 1U);
  BOOST_TEST(take(slots, own(1)) == 3U);
}

BOOST_AUTO_TEST_CASE(giving_back_what_was_never_taken_changes_nothing) {
  auto slots = with(4, 4);
  slots.give_back(1);
  slots.ended(1, End::answered, 5ms);
  slots.recorded(1);
  BOOST_TEST(slots.in_hand() == 0U);
  BOOST_TEST(take(slots, own(1)) == 4U);
}

BOOST_AUTO_TEST_CASE(idle_webhooks_are_forgotten) {
  auto slots = with(100);
  for (int webhook = 1; webhook <= 10'000; ++webhook) {
    wait(slots, own(webhook));
    BOOST_REQUIRE(slots.take(webhook));
    slots.stop_waiting(webhook);
    end(slots, webhook);
    BOOST_TEST(slots.take_new(own(webhook, true)));
    end(slots, webhook, End::failed, 5s);
  }
  BOOST_TEST(slots.size() == 0U);
}

BOOST_AUTO_TEST_CASE(former_webhooks_of_an_entity_that_is_never_idle_are_forgotten) {
  auto slots = with(100);
  const auto of_entity = [](std::int64_t webhook) {
    return Destination{webhook, 1, "h" + std::to_string(webhook) + ":443", false};
  };
  wait(slots, of_entity(1));
  BOOST_REQUIRE(slots.take(1));
  for (int webhook = 2; webhook <= 10'000; ++webhook) {
    BOOST_REQUIRE(slots.take_new(of_entity(webhook)));
    end(slots, webhook);
    BOOST_REQUIRE_LT(slots.size(), 30U);
  }
  BOOST_TEST(slots.holds_any(1));
  BOOST_TEST(slots.rank(1).second >= 15s);  // the account of the webhook that holds a delivery stays
}

BOOST_AUTO_TEST_SUITE_END()
