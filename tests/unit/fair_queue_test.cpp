#include "dispatcher/schedule/fair_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(fair_queue)

namespace {

using namespace std::chrono_literals;
using Queue = dispatcher::FairQueue<std::int64_t>;

std::vector<std::int64_t> order(const Queue& queue) {
  std::vector<std::int64_t> result;
  for (const auto& [account, id] : queue.order()) result.push_back(id);
  return result;
}

using Ids = std::vector<std::int64_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(who_has_used_least_is_first) {
  Queue queue;
  for (const std::int64_t id : {1, 2, 3}) queue.enter(id);
  queue.charge(1, 20ms);
  queue.charge(2, 10ms);
  BOOST_TEST((order(queue) == Ids{3, 2, 1}));
  queue.leave(3);
  BOOST_TEST((order(queue) == Ids{2, 1}));
}

BOOST_AUTO_TEST_CASE(an_expected_cost_is_corrected_by_the_actual_cost) {
  Queue queue;
  queue.enter(1);
  queue.enter(2);
  queue.charge(1, 15s);
  queue.enter(3);
  queue.charge(2, 1s);
  queue.release(1, 5ms - 15s);
  queue.release(2, 0ms);
  BOOST_TEST((order(queue) == Ids{3, 1, 2}));
  BOOST_TEST((queue.account(1) == 5ms));
}

BOOST_AUTO_TEST_CASE(a_newcomer_begins_at_the_present_minimum) {
  Queue queue;
  queue.enter(1);
  queue.enter(2);
  queue.charge(1, 70ms);
  queue.charge(2, 50ms);
  queue.enter(3);
  BOOST_TEST((queue.account(3) == 50ms));
  BOOST_TEST((order(queue) == Ids{2, 3, 1}));
}

// An id that leaves for a moment must not come back as a newcomer.
BOOST_AUTO_TEST_CASE(an_account_is_kept_until_the_minimum_has_passed_it) {
  Queue queue;
  queue.enter(1);
  queue.enter(2);
  queue.charge(1, 50ms);
  queue.release(1, 0ms);
  queue.leave(1);
  BOOST_TEST(!queue.forget_one().has_value());
  queue.enter(1);
  BOOST_TEST((queue.account(1) == 50ms));
  queue.leave(1);
  queue.charge(2, 60ms);
  BOOST_TEST(queue.forget_one().value() == 1);
  BOOST_TEST(!queue.forget_one().has_value());
  BOOST_TEST(queue.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_last_account_can_be_forgotten_once_released) {
  Queue queue;
  queue.enter(1);
  queue.charge(1, 50ms);
  queue.leave(1);
  BOOST_TEST(!queue.forget_one().has_value());  // its charge is not released yet
  queue.release(1, 0ms);
  BOOST_TEST(queue.forget_one().value() == 1);
  BOOST_TEST(queue.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_correction_lowers_no_account_below_the_minimum) {
  Queue queue;
  queue.enter(1);
  queue.enter(2);
  queue.charge(1, 15s);
  queue.charge(2, 10s);
  queue.release(1, 5ms - 15s);  // the minimum is at 10 s
  BOOST_TEST((queue.account(1) == 10s));
}

BOOST_AUTO_TEST_SUITE_END()
