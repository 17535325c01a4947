#include "slots.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(slots)

namespace {

using dispatcher::Slots;

constexpr store::WebhookId webhook = 1;

void take(Slots& slots, store::WebhookId id, bool probing, unsigned times = 1) {
  for (unsigned i = 0; i < times; ++i) slots.take(id, probing);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_webhook_has_its_own_limit) {
  Slots slots(100, 3);
  BOOST_TEST(slots.available(webhook, false) == 3U);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.available(webhook, false) == 1U);
  take(slots, webhook, false);
  BOOST_TEST(slots.available(webhook, false) == 0U);
  BOOST_TEST(slots.available(2, false) == 3U);  // and holds up no other
  slots.give_back(webhook);
  BOOST_TEST(slots.available(webhook, false) == 1U);
}

BOOST_AUTO_TEST_CASE(all_together_have_a_limit) {
  Slots slots(5, 3);
  take(slots, 1, false, 3);
  BOOST_TEST(slots.available(2, false) == 2U);
  take(slots, 2, false, 2);
  BOOST_TEST(slots.in_flight() == 5U);
  BOOST_TEST(slots.full());
  BOOST_TEST(slots.available(2, false) == 0U);
  BOOST_TEST(slots.available(3, false) == 0U);
  BOOST_TEST(slots.available(3, true) == 0U);
  slots.give_back(1);
  BOOST_TEST(!slots.full());
  BOOST_TEST(slots.available(3, false) == 1U);
}

BOOST_AUTO_TEST_CASE(the_total_may_be_less_than_a_webhook_s_own) {
  BOOST_TEST(Slots(2, 10).available(webhook, false) == 2U);
}

BOOST_AUTO_TEST_CASE(one_that_probes_has_one_in_flight) {
  Slots slots(100, 10);
  BOOST_TEST(slots.available(webhook, true) == 1U);
  take(slots, webhook, true);
  BOOST_TEST(slots.available(webhook, true) == 0U);
  BOOST_TEST(slots.available(webhook, false) == 9U);  // it recovered meanwhile
  slots.give_back(webhook);
  BOOST_TEST(slots.available(webhook, true) == 1U);
}

BOOST_AUTO_TEST_CASE(one_that_begins_to_fail_with_several_in_flight_gets_no_more) {
  Slots slots(100, 10);
  take(slots, webhook, false, 2);
  BOOST_TEST(slots.available(webhook, true) == 0U);
  slots.give_back(webhook);
  BOOST_TEST(slots.available(webhook, true) == 0U);
  slots.give_back(webhook);
  BOOST_TEST(slots.available(webhook, true) == 1U);
}

BOOST_AUTO_TEST_CASE(all_that_probe_hold_half_of_the_total) {
  Slots slots(5, 10);
  take(slots, 1, true);
  BOOST_TEST(slots.available(2, true) == 1U);
  take(slots, 2, true);
  BOOST_TEST(slots.available(3, true) == 0U);
  BOOST_TEST(slots.available(4, false) == 3U);
  take(slots, 4, false, 3);
  BOOST_TEST(slots.full());
  slots.give_back(1);
  BOOST_TEST(slots.available(3, true) == 1U);
}

BOOST_AUTO_TEST_CASE(with_a_total_of_one_it_may_be_a_probe) {
  Slots slots(1, 1);
  BOOST_TEST(slots.available(webhook, true) == 1U);
  take(slots, webhook, true);
  BOOST_TEST(slots.available(2, true) == 0U);
  BOOST_TEST(slots.available(2, false) == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_given_back_leaves_no_trace) {
  Slots slots(4, 4);
  for (int round = 0; round < 10; ++round) {
    take(slots, 1, true);
    take(slots, 1, false, 2);
    take(slots, 2, true);
    BOOST_TEST(slots.in_flight() == 4U);
    for (const store::WebhookId id : {1, 2, 1, 1}) slots.give_back(id);
    BOOST_TEST(slots.in_flight() == 0U);
    BOOST_TEST(slots.available(1, false) == 4U);
    BOOST_TEST(slots.available(3, true) == 1U);
  }
}

// More than was available: it must not come out as four thousand million free ones.
BOOST_AUTO_TEST_CASE(what_was_taken_beyond_the_limits_leaves_none) {
  Slots slots(2, 5);
  take(slots, webhook, true, 3);
  BOOST_TEST(slots.full());
  BOOST_TEST(slots.available(webhook, false) == 0U);
  BOOST_TEST(slots.available(2, true) == 0U);
}

BOOST_AUTO_TEST_CASE(giving_back_what_was_never_taken_changes_nothing) {
  Slots slots(4, 2);
  slots.give_back(webhook);
  take(slots, webhook, false);
  slots.give_back(2);
  BOOST_TEST(slots.in_flight() == 1U);
  BOOST_TEST(slots.available(webhook, false) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
