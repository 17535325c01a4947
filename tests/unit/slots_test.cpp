#include "delivery/slots.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(slots)

namespace {

using delivery::Slots;
using Outcome = Slots::Outcome;
using platform::Milliseconds;
using platform::MonotonicTime;

constexpr delivery::WebhookId webhook = 1;
const MonotonicTime start{std::chrono::hours(1)};

MonotonicTime at(int milliseconds) { return start + Milliseconds(milliseconds); }

void take(Slots& slots, delivery::WebhookId id, bool probing, unsigned times = 1) {
  for (unsigned i = 0; i < times; ++i) slots.take(id, probing, start);
}

/// Over, and written down.
void give_back(Slots& slots, delivery::WebhookId id, Outcome outcome, MonotonicTime now) {
  slots.ended(id, outcome, now);
  slots.recorded(id);
}

/// It has answered so often that its share is at its limit.
void warm_up(Slots& slots, delivery::WebhookId id = webhook) {
  for (int i = 0; i < 20; ++i) {
    slots.take(id, false, start);
    give_back(slots, id, Outcome::answered, start);
  }
}

/// Half of them are taken, by a webhook of no other interest.
Slots scarce(unsigned total, unsigned per_webhook) {
  Slots slots(total, per_webhook);
  take(slots, 1000, false, total / 2);
  return slots;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_webhook_has_its_own_limit) {
  Slots slots(100, 3);
  BOOST_TEST(slots.available(webhook, false, start) == 3U);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.available(webhook, false, start) == 1U);
  take(slots, webhook, false);
  BOOST_TEST(slots.available(webhook, false, start) == 0U);
  BOOST_TEST(slots.available(2, false, start) == 3U);  // and holds up no other
  give_back(slots, webhook, Outcome::answered, start);
  BOOST_TEST(slots.available(webhook, false, start) == 1U);
}

BOOST_AUTO_TEST_CASE(when_slots_are_scarce_it_begins_with_two_and_earns_one_with_each_answer) {
  auto slots = scarce(100, 10);
  BOOST_TEST(slots.available(webhook, false, start) == 2U);
  take(slots, webhook, false, 2);
  give_back(slots, webhook, Outcome::answered, start);
  BOOST_TEST(slots.available(webhook, false, start) == 2U);  // three, one in flight
  give_back(slots, webhook, Outcome::not_started, start);    // tells nothing
  BOOST_TEST(slots.available(webhook, false, start) == 3U);
  take(slots, webhook, false);
  give_back(slots, webhook, Outcome::failed, start);
  BOOST_TEST(slots.available(webhook, false, start) == 2U);
  warm_up(slots);
  BOOST_TEST(slots.available(webhook, false, start) == 10U);
}

BOOST_AUTO_TEST_CASE(its_limit_may_be_less_than_two) {
  BOOST_TEST(scarce(100, 1).available(webhook, false, start) == 1U);
}

BOOST_AUTO_TEST_CASE(what_it_earned_is_forgotten_when_nothing_is_in_flight_for_long) {
  auto slots = scarce(100, 10);
  warm_up(slots);
  BOOST_TEST(slots.available(webhook, false, at(10'000)) == 10U);
  BOOST_TEST(slots.available(webhook, false, at(10'001)) == 2U);
  slots.take(webhook, false, at(10'001));
  BOOST_TEST(slots.available(webhook, false, at(10'001)) == 1U);
}

BOOST_AUTO_TEST_CASE(when_slots_are_scarce_one_that_does_not_answer_gets_no_more_until_it_does) {
  auto slots = scarce(100, 10);
  warm_up(slots);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.available(webhook, false, at(1000)) == 8U);
  BOOST_TEST(slots.available(webhook, false, at(1001)) == 0U);
  give_back(slots, webhook, Outcome::answered, at(5000));
  BOOST_TEST(slots.available(webhook, false, at(5001)) == 9U);
}

BOOST_AUTO_TEST_CASE(while_there_is_plenty_it_does_not_matter_how_long_an_answer_takes) {
  Slots slots(100, 10);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.available(webhook, false, at(60'000)) == 8U);
}

BOOST_AUTO_TEST_CASE(all_together_have_a_limit) {
  Slots slots(5, 3);
  for (const delivery::WebhookId id : {1, 2, 3}) warm_up(slots, id);
  take(slots, 1, false, 3);
  BOOST_TEST(slots.available(2, false, start) == 2U);
  take(slots, 2, false, 2);
  BOOST_TEST(slots.in_flight() == 5U);
  BOOST_TEST(slots.full());
  BOOST_TEST(slots.free() == 0U);
  BOOST_TEST(slots.available(2, false, start) == 0U);
  BOOST_TEST(slots.available(3, false, start) == 0U);
  BOOST_TEST(slots.available(3, true, start) == 0U);
  give_back(slots, 1, Outcome::answered, start);
  BOOST_TEST(!slots.full());
  BOOST_TEST(slots.available(3, false, start) == 1U);
}

BOOST_AUTO_TEST_CASE(the_total_may_be_less_than_a_webhook_s_own) {
  Slots slots(2, 10);
  warm_up(slots);
  BOOST_TEST(slots.available(webhook, false, start) == 2U);
}

BOOST_AUTO_TEST_CASE(one_that_probes_has_one_in_flight) {
  Slots slots(100, 10);
  BOOST_TEST(slots.available(webhook, true, start) == 1U);
  take(slots, webhook, true);
  BOOST_TEST(slots.available(webhook, true, start) == 0U);
  give_back(slots, webhook, Outcome::failed, start);
  BOOST_TEST(slots.available(webhook, true, start) == 1U);
}

BOOST_AUTO_TEST_CASE(one_that_begins_to_fail_with_several_in_flight_gets_no_more) {
  Slots slots(100, 10);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.available(webhook, true, start) == 0U);
  give_back(slots, webhook, Outcome::failed, start);
  BOOST_TEST(slots.available(webhook, true, start) == 0U);
  give_back(slots, webhook, Outcome::failed, start);
  BOOST_TEST(slots.available(webhook, true, start) == 1U);
}

BOOST_AUTO_TEST_CASE(all_that_probe_hold_half_of_the_total) {
  Slots slots(5, 10);
  take(slots, 1, true);
  BOOST_TEST(slots.available(2, true, start) == 1U);
  take(slots, 2, true);
  BOOST_TEST(slots.available(3, true, start) == 0U);
  BOOST_TEST(slots.available(4, false, start) == 2U);
  take(slots, 4, false, 3);
  BOOST_TEST(slots.full());
  give_back(slots, 1, Outcome::failed, start);
  BOOST_TEST(slots.available(3, true, start) == 1U);
}

BOOST_AUTO_TEST_CASE(with_a_total_of_one_it_may_be_a_probe) {
  Slots slots(1, 1);
  BOOST_TEST(slots.available(webhook, true, start) == 1U);
  take(slots, webhook, true);
  BOOST_TEST(slots.available(2, true, start) == 0U);
  BOOST_TEST(slots.available(2, false, start) == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_given_back_is_free_again) {
  Slots slots(4, 4);
  for (int round = 0; round < 10; ++round) {
    take(slots, 1, true);
    take(slots, 1, false, 2);
    take(slots, 2, true);
    BOOST_TEST(slots.in_flight() == 4U);
    for (const delivery::WebhookId id : {1, 2, 1, 1}) give_back(slots, id, Outcome::failed, start);
    BOOST_TEST(slots.in_flight() == 0U);
    BOOST_TEST(slots.available(1, false, start) == 4U);
    BOOST_TEST(slots.available(3, true, start) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(what_is_over_is_its_webhook_s_until_it_is_written_down) {
  Slots slots(2, 2);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.full());
  slots.ended(webhook, Outcome::answered, start);
  BOOST_TEST(slots.in_flight() == 1U);
  BOOST_TEST(slots.available(webhook, false, start) == 0U);
  BOOST_TEST(slots.available(2, false, start) == 1U);  // others do not wait for that
  slots.recorded(webhook);
  BOOST_TEST(slots.available(webhook, false, start) == 1U);
  slots.recorded(webhook);  // the other one is still in flight
  BOOST_TEST(slots.available(webhook, false, start) == 1U);
}

BOOST_AUTO_TEST_CASE(who_was_asked_to_wait_or_failed_starts_nothing_before_that_is_written_down) {
  for (const auto outcome : {Outcome::asked_to_wait, Outcome::failed}) {
    Slots slots(100, 10);
    take(slots, webhook, false, 3);
    slots.ended(webhook, outcome, start);
    slots.ended(webhook, Outcome::answered, start);
    BOOST_TEST(slots.available(webhook, false, start) == 0U);
    BOOST_TEST(slots.available(2, false, start) == 10U);
    slots.recorded(webhook);
    BOOST_TEST(slots.available(webhook, false, start) == 0U);  // nobody knows which of the two that was
    slots.recorded(webhook);
    BOOST_TEST(slots.available(webhook, false, start) == 9U);
  }
}

BOOST_AUTO_TEST_CASE(one_that_probes_does_not_ask_again_before_the_answer_is_written_down) {
  Slots slots(100, 10);
  take(slots, webhook, true);
  slots.ended(webhook, Outcome::answered, start);
  BOOST_TEST(slots.available(webhook, true, start) == 0U);
  slots.recorded(webhook);
  BOOST_TEST(slots.available(webhook, true, start) == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_not_sent_takes_of_its_webhook_s_own_and_of_no_other_s) {
  Slots slots(1, 2);
  slots.take_unsent(webhook);
  BOOST_TEST(slots.in_flight() == 0U);
  BOOST_TEST(slots.available(webhook, false, start) == 1U);
  BOOST_TEST(slots.available(2, false, start) == 1U);
  slots.recorded(webhook);
  slots.take_unsent(webhook);
  slots.take_unsent(webhook);
  BOOST_TEST(slots.available(webhook, false, start) == 0U);
}

// More than was available: it must not come out as four thousand million free ones.
BOOST_AUTO_TEST_CASE(what_was_taken_beyond_the_limits_leaves_none) {
  Slots slots(2, 5);
  take(slots, webhook, true, 3);
  BOOST_TEST(slots.full());
  BOOST_TEST(slots.free() == 0U);
  BOOST_TEST(slots.available(webhook, false, start) == 0U);
  BOOST_TEST(slots.available(2, true, start) == 0U);
}

BOOST_AUTO_TEST_CASE(giving_back_what_was_never_taken_changes_nothing) {
  Slots slots(4, 2);
  give_back(slots, webhook, Outcome::answered, start);
  take(slots, webhook, false);
  slots.recorded(webhook);
  give_back(slots, 2, Outcome::answered, start);
  BOOST_TEST(slots.in_flight() == 1U);
  BOOST_TEST(slots.available(webhook, false, start) == 1U);
}

BOOST_AUTO_TEST_CASE(a_plan_counts_what_it_takes_and_takes_nothing) {
  Slots slots(5, 2);
  take(slots, 9, false);
  Slots::Plan plan(slots, start);
  plan.take(1, false);
  BOOST_TEST(plan.available(1, false) == 1U);
  plan.take(1, false);
  BOOST_TEST(plan.available(1, false) == 0U);
  plan.take(2, true);
  BOOST_TEST(plan.available(2, true) == 0U);
  BOOST_TEST(plan.available(3, true) == 1U);  // half of five, one taken
  BOOST_TEST(!plan.full());
  plan.take(3, true);
  BOOST_TEST(plan.full());
  BOOST_TEST(plan.available(4, false) == 0U);
  BOOST_TEST(slots.in_flight() == 1U);
  BOOST_TEST(slots.available(1, false, start) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
