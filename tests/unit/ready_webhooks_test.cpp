#include "dispatcher/schedule/ready_webhooks.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/range_text.hpp"

BOOST_AUTO_TEST_SUITE(ready_webhooks)

namespace {

using dispatcher::ReadyWebhooks;
using platform::Milliseconds;
using platform::MonotonicTime;
using platform::UtcTime;

const MonotonicTime now{std::chrono::hours(1)};
constexpr Milliseconds past{-1};  // due already

using Ids = std::vector<delivery::WebhookId>;

MonotonicTime at(int milliseconds) { return now + Milliseconds(milliseconds); }

}  // namespace

BOOST_AUTO_TEST_CASE(each_is_told_once_from_its_time_on) {
  ReadyWebhooks ready;
  for (const int id : {1, 2, 3}) ready.found({id, UtcTime(Milliseconds(id * 10)), past}, now);
  ready.found({4, UtcTime{}, Milliseconds(4)}, now);
  BOOST_TEST((ready.take_due(now) == Ids{1, 2, 3}));
  BOOST_TEST(ready.take_due(now).empty());
  BOOST_TEST(ready.take_due(at(4)).empty());
  BOOST_TEST((ready.take_due(at(5)) == Ids{4}));
  BOOST_TEST((ready.after(2).due == UtcTime(Milliseconds(19))));
  ready.advance(2, {UtcTime(Milliseconds(50)), 4});
  ready.waits(2, now);
  BOOST_TEST(ready.take_due(at(5)).empty());  // take_due() has returned webhook 2 already
  ready.finished(2, now);
  BOOST_TEST(text(ready.ranges(at(5))) == "-..0 2..2 5..+ ");
  ready.waits(2, now);
  BOOST_TEST((ready.take_due(at(5)) == Ids{2}));
  BOOST_TEST((ready.after(2).due == UtcTime(Milliseconds(50))));
  ready.look_again();
  BOOST_TEST((ready.after(2).due == UtcTime{}));
}

// A webhook with a retry tomorrow may get a delivery that is due today, so the next read of the webhook's
// deliveries must not begin at the retry.
BOOST_AUTO_TEST_CASE(what_comes_before_the_first_one_found_is_not_skipped) {
  constexpr Milliseconds day{86'400'000};
  const UtcTime seen(Milliseconds(1'000'000));
  ReadyWebhooks ready;
  ready.found({1, seen + day, day}, now);
  ready.waits(1, at(1));
  BOOST_REQUIRE(ready.take_due(at(1)).size() == 1U);
  BOOST_TEST((ready.after(1).due <= seen));
}

BOOST_AUTO_TEST_CASE(the_first_of_several_deliveries_decides_when_a_webhook_is_due) {
  ReadyWebhooks ready;
  ready.waits(1, at(9));
  ready.waits(1, at(5));
  ready.waits(1, at(7));
  BOOST_TEST(ready.take_due(at(4)).empty());
  BOOST_TEST(ready.take_due(at(5)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_postponed_webhook_is_not_due_whatever_is_found) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime{}, past}, now);
  BOOST_TEST(ready.take_due(now).size() == 1U);
  ready.postpone(1, at(10));
  ready.found({1, UtcTime{}, past}, now);
  ready.waits(1, now);
  BOOST_TEST(ready.take_due(now).empty());
  BOOST_TEST(ready.take_due(at(10)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(one_that_is_suspended_comes_back_only_if_something_is_found) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime{}, past}, now);
  ready.suspend(1, at(10));
  BOOST_TEST(ready.take_due(at(20)).empty());
  ready.found({1, UtcTime{}, past}, now);
  BOOST_TEST(ready.take_due(now).empty());
  BOOST_TEST(ready.take_due(at(10)).size() == 1U);
}

// A webhook with a retry in an hour may get a new delivery at any moment, so ranges() includes the webhook.
BOOST_AUTO_TEST_CASE(only_webhooks_that_are_due_or_postponed_are_not_searched) {
  ReadyWebhooks ready;
  ready.found({5, UtcTime{}, past}, now);
  ready.found({7, UtcTime{}, Milliseconds(0)}, now);
  BOOST_TEST(text(ready.ranges(now)) == "-..4 6..7 8..+ ");
  BOOST_TEST(text(ready.ranges(at(1))) == "-..4 6..6 8..+ ");
  ready.postpone(7, at(10));
  BOOST_TEST(text(ready.ranges(now)) == "-..4 6..6 8..+ ");
}

// Otherwise a look every 5 s would begin at these rows again, and those behind them might never be reached.
BOOST_AUTO_TEST_CASE(rows_left_to_a_newer_version_are_passed_over_in_one_go_and_read_again_after_5_s) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime(Milliseconds(10)), past}, now);
  BOOST_TEST(ready.take_due(now).size() == 1U);
  ready.note_left(1);
  ready.advance(1, {UtcTime(Milliseconds(20)), 4});
  ready.look_again();
  ready.returned(1, now);
  BOOST_TEST((ready.after(1).due == UtcTime(Milliseconds(20))));
  ready.finished(1, now);
  BOOST_TEST(text(ready.ranges(at(4'999))) == "-..0 2..+ ");
  ready.waits(1, now);  // the webhook has a new delivery
  BOOST_TEST(ready.take_due(at(4'999)).empty());
  BOOST_TEST((ready.take_due(at(5'000)) == Ids{1}));
  ready.look_again();
  BOOST_TEST((ready.after(1).due == UtcTime{}));
}

// A delivery that was claimed but not started keeps its due time, so it is read before deliveries that are
// due later.
BOOST_AUTO_TEST_CASE(returned_deliveries_are_read_before_later_ones) {
  ReadyWebhooks ready;
  ready.found({1, UtcTime(Milliseconds(10)), past}, now);
  BOOST_TEST(ready.take_due(now).size() == 1U);
  ready.advance(1, {UtcTime(Milliseconds(50)), 4});
  ready.returned(1, now);
  BOOST_TEST((ready.after(1) == store::DuePosition{}));
  BOOST_TEST(ready.take_due(now).empty());  // take_due() has returned webhook 1 already
  ready.finished(1, now);
  ready.returned(1, now);
  BOOST_TEST((ready.take_due(now) == Ids{1}));
}

BOOST_AUTO_TEST_CASE(a_webhook_without_work_for_a_minute_is_forgotten) {
  ReadyWebhooks ready;
  for (int id = 1; id <= 1000; ++id) ready.waits(id, now);
  BOOST_TEST(ready.take_due(now).size() == 1000U);
  for (int id = 1; id <= 999; ++id) ready.finished(id, now);
  BOOST_TEST(ready.take_due(at(59'999)).empty());
  BOOST_TEST(ready.size() == 1000U);
  BOOST_TEST(ready.take_due(at(60'000)).empty());
  BOOST_TEST(ready.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
