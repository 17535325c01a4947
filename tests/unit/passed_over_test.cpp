#include "dispatcher/fan_out/passed_over.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(passed_over)

namespace {

using namespace std::chrono_literals;
using dispatcher::Outcome;
using dispatcher::PassedOver;
using store::NotificationKey;

const platform::MonotonicTime start{1h};
const NotificationKey one{1, 7};
const NotificationKey two{2, 7};

std::vector<std::int64_t> ids(const std::vector<NotificationKey>& rows) {
  std::vector<std::int64_t> result;
  for (const auto& row : rows) result.push_back(row.id.number());
  return result;
}

using Ids = std::vector<std::int64_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(each_try_in_vain_doubles_the_wait_up_to_the_longest) {
  PassedOver list;
  auto now = start;
  for (const auto wait : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    list.note(one, Outcome::row_locked, now);
    BOOST_TEST(list.due(now + wait - 1ms, 9).empty());
    BOOST_TEST((list.next_due() == now + wait));
    now += wait;
    BOOST_TEST((ids(list.due(now, 9)) == Ids{1}));
  }
}

BOOST_AUTO_TEST_CASE(one_that_is_settled_leaves_the_list) {
  for (const auto settled : {Outcome::written, Outcome::rejected, Outcome::not_pending}) {
    PassedOver list;
    list.note(one, Outcome::refused, start);
    list.note(two, Outcome::for_newer, start);
    list.note(one, settled, start);
    BOOST_TEST(!list.contains(1));
    BOOST_TEST((ids(list.due(start + 1s, 9)) == Ids{2}));
  }
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_something_else_stays_and_is_due_as_soon) {
  PassedOver list;
  list.note(one, Outcome::row_locked, start);
  for (const auto outcome : {Outcome::no_room, Outcome::recipient_locked, Outcome::put_off}) {
    list.note(one, outcome, start + 1s);
    BOOST_TEST((list.next_due() == start + 1s + 50ms));
  }
  BOOST_TEST(list.locked_for(0ms, start + 1s).count == 0U);
  list.note(two, Outcome::no_slot, start);
  BOOST_TEST(!list.contains(2));
}

BOOST_AUTO_TEST_CASE(those_due_longest_come_first_and_stay) {
  PassedOver list;
  list.note(two, Outcome::row_locked, start);
  list.note(one, Outcome::row_locked, start + 1ms);
  BOOST_TEST((ids(list.due(start + 1s, 1)) == Ids{2}));
  BOOST_TEST((ids(list.due(start + 1s, 9)) == Ids{2, 1}));
}

BOOST_AUTO_TEST_CASE(one_that_was_not_tried_comes_before_those_found_locked) {
  PassedOver list;
  for (const auto time : {start, start + 50ms}) {
    list.note(one, Outcome::row_locked, time);
    list.note(two, Outcome::untried, time);
  }
  BOOST_TEST((ids(list.due(start + 100ms, 9)) == Ids{2}));
  list.note(one, Outcome::untried, start + 150ms);
  BOOST_TEST(list.locked_for(1min, start + 1min).count == 1U);
}

BOOST_AUTO_TEST_CASE(the_list_is_bounded) {
  PassedOver list;
  for (std::int64_t id = 1; id <= std::int64_t{PassedOver::most} + 5; ++id)
    list.reject_refused({id, 7}, start);
  BOOST_TEST(list.size() == PassedOver::most);
}

BOOST_AUTO_TEST_CASE(only_what_stays_locked_counts_as_locked) {
  PassedOver list;
  list.note(one, Outcome::row_locked, start);
  list.note(two, Outcome::row_locked, start + 1s);
  list.note({3, 8}, Outcome::refused, start);
  const auto locked = list.locked_for(1min, start + 61s);
  BOOST_TEST(locked.count == 2U);
  BOOST_TEST(locked.first.id == 1);
  BOOST_TEST((locked.since == 61s));
  list.note(one, Outcome::refused, start + 61s);
  BOOST_TEST(list.locked_for(1min, start + 61s).count == 1U);
  BOOST_TEST(list.locked_for(1min, start + 60s).count == 0U);
}

BOOST_AUTO_TEST_CASE(a_lock_that_may_have_ended_unseen_counts_anew) {
  PassedOver list;
  list.note(one, Outcome::row_locked, start);
  list.forget_locks();
  BOOST_TEST(list.locked_for(1min, start + 61s).count == 0U);
  list.note(one, Outcome::row_locked, start + 61s);
  for (const auto not_tried : {Outcome::untried, Outcome::put_off}) list.note(one, not_tried, start + 62s);
  BOOST_TEST((list.locked_for(1min, start + 121s).since == 60s));
}

// Which of the notifications that the database refuses are rejected.

BOOST_AUTO_TEST_CASE(one_that_is_refused_twice_while_another_is_accepted_is_rejected) {
  PassedOver list;
  BOOST_TEST(!list.reject_refused(one, start));
  list.note(one, Outcome::refused, start);
  list.accepted();
  BOOST_TEST(list.is_refused(1));
  BOOST_TEST(list.reject_refused(one, start));
  BOOST_TEST(!list.is_refused(1));
  BOOST_TEST(!list.reject_refused(one, start));  // retried by the operator: its refusals count anew
  BOOST_TEST(!list.reject_refused(one, start));
  list.accepted();
  BOOST_TEST(list.reject_refused(one, start));
}

BOOST_AUTO_TEST_CASE(none_is_rejected_while_none_is_accepted) {
  PassedOver list;
  list.accepted();
  for (auto now = start; now < start + 100h; now += 1h) {
    BOOST_TEST(!list.reject_refused(one, now));
    BOOST_TEST(!list.reject_refused(two, now));
  }
}

BOOST_AUTO_TEST_CASE(one_that_is_accepted_at_last_is_refused_no_more) {
  PassedOver list;
  list.reject_refused(one, start);
  list.note(one, Outcome::refused, start);
  list.note(one, Outcome::written, start);
  list.accepted();
  BOOST_TEST(!list.reject_refused(one, start));
}

// The error of a session may end the batch before it has outcomes.
BOOST_AUTO_TEST_CASE(one_that_is_refused_is_due_even_if_its_outcome_is_never_noted) {
  PassedOver list;
  list.reject_refused(one, start);
  BOOST_TEST((ids(list.due(start, 9)) == Ids{1}));
  list.note(one, Outcome::refused, start);
  BOOST_TEST((list.next_due() == start + 50ms));
}

BOOST_AUTO_TEST_CASE(the_rate_of_rejections_is_bounded) {
  PassedOver list;
  const auto refuse_all = [&](platform::MonotonicTime now) {
    unsigned rejected = 0;
    for (std::int64_t id = 1; id <= 1000; ++id) rejected += list.reject_refused({id, 7}, now) ? 1 : 0;
    return rejected;
  };
  BOOST_TEST(refuse_all(start) == 0U);
  list.accepted();
  BOOST_TEST(refuse_all(start + 5h) == PassedOver::at_once);
  BOOST_TEST(refuse_all(start + 5h + 99ms) == 0U);
  BOOST_TEST(refuse_all(start + 5h + 1s) == 10U);
}

BOOST_AUTO_TEST_CASE(one_that_is_refused_is_rejected_however_many_are_locked) {
  PassedOver list;
  for (std::int64_t id = 1; id <= std::int64_t{PassedOver::most} + 5; ++id)
    list.note({id, 7}, Outcome::row_locked, start);
  BOOST_TEST(list.size() == PassedOver::most - PassedOver::only_for_refused);
  const NotificationKey further{std::int64_t{PassedOver::most} + 6, 7};
  list.reject_refused(further, start);
  list.note(further, Outcome::refused, start);
  list.accepted();
  BOOST_TEST(list.reject_refused(further, start));
}

BOOST_AUTO_TEST_SUITE_END()
