#include "http/connection_pools.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(pools)

namespace {

using dispatcher::ConnectionPools;
using dispatcher::Request;
using platform::Milliseconds;
using platform::MonotonicTime;

const MonotonicTime start{std::chrono::hours(1)};
constexpr delivery::WebhookId webhook = 1;

MonotonicTime at(int milliseconds) { return start + Milliseconds(milliseconds); }

Request request(delivery::DeliveryId id, delivery::WebhookId to = webhook) {
  Request result;
  result.delivery.id = id;
  result.delivery.webhook = to;
  return result;
}

delivery::DeliveryId id_of(const std::optional<Request>& request) {
  return request ? request->delivery.id : 0;
}

/// A handshake is learnt to be short: it counts as 10 ms.
ConnectionPools quick_pools(std::size_t plenty = 0) {
  ConnectionPools pools(plenty);
  for (int i = 0; i < 100; ++i) pools.connection_made(Milliseconds(1));
  return pools;
}

bool always(delivery::WebhookId /*webhook*/) { return true; }

}  // namespace

BOOST_AUTO_TEST_CASE(requests_of_one_webhook_follow_each_other_in_their_order) {
  ConnectionPools pools(0);
  BOOST_TEST(id_of(pools.add(request(1), start)) == 1);
  BOOST_TEST(id_of(pools.add(request(2), start)) == 0);
  BOOST_TEST(id_of(pools.add(request(3), start)) == 0);
  BOOST_TEST(id_of(pools.ended(webhook, true, start)) == 2);
  BOOST_TEST(id_of(pools.ended(webhook, false, start)) == 3);
  BOOST_TEST(id_of(pools.ended(webhook, true, start)) == 0);
  BOOST_TEST(!pools.next_overdue());
}

BOOST_AUTO_TEST_CASE(another_webhook_has_a_pool_of_its_own) {
  ConnectionPools pools(0);
  pools.add(request(1), start);
  BOOST_TEST(id_of(pools.add(request(2, 2), start)) == 2);
}

BOOST_AUTO_TEST_CASE(another_connection_is_opened_for_what_has_waited_long_one_at_a_time) {
  auto pools = quick_pools();
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  BOOST_TEST((pools.next_overdue() == at(20)));
  BOOST_TEST(pools.overdue(at(19), always).start.empty());
  const auto first = pools.overdue(at(20), always).start;
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_TEST(first.front().delivery.id == 2);
  BOOST_TEST((pools.next_overdue() == at(40)));
  BOOST_TEST(pools.overdue(at(40), always).start.front().delivery.id == 3);
  BOOST_TEST(!pools.next_overdue());
}

BOOST_AUTO_TEST_CASE(not_while_one_is_still_being_made) {
  auto pools = quick_pools();
  for (int i = 1; i <= 2; ++i) pools.add(request(i), start);
  BOOST_TEST(pools.overdue(at(20), [](auto) { return false; }).start.empty());
  BOOST_TEST((pools.next_overdue() == at(40)));
  BOOST_TEST(pools.overdue(at(40), always).start.size() == 1U);
}

BOOST_AUTO_TEST_CASE(connections_that_are_open_are_used_at_once) {
  auto pools = quick_pools();
  for (int i = 1; i <= 2; ++i) pools.add(request(i), start);
  pools.overdue(at(20), always);
  pools.ended(webhook, true, at(30));
  pools.ended(webhook, true, at(30));
  BOOST_TEST(id_of(pools.add(request(3), at(40))) == 3);
  BOOST_TEST(id_of(pools.add(request(4), at(40))) == 4);
  BOOST_TEST(id_of(pools.add(request(5), at(40))) == 0);
}

BOOST_AUTO_TEST_CASE(a_connection_is_worth_it_when_the_queue_takes_twice_as_long) {
  auto pools = quick_pools();
  for (int i = 0; i < 100; ++i) pools.connection_made(Milliseconds(60));
  for (int i = 1; i <= 2; ++i) pools.add(request(i), start);
  BOOST_TEST(pools.overdue(at(110), always).start.empty());
  BOOST_TEST(pools.overdue(at(121), always).start.size() == 1U);

  auto longer = quick_pools();
  for (int i = 0; i < 100; ++i) longer.connection_made(Milliseconds(60));
  for (int i = 1; i <= 5; ++i) longer.add(request(i), start);  // four wait
  BOOST_TEST(longer.overdue(at(25), always).start.empty());
  BOOST_TEST(longer.overdue(at(31), always).start.size() == 1U);
}

// Otherwise steady answers would put it off for ever, however long the queue.
BOOST_AUTO_TEST_CASE(a_pool_that_moves_slowly_gets_connections_too) {
  auto pools = quick_pools();
  for (int i = 1; i <= 30; ++i) pools.add(request(i), start);
  int opened = 0;
  for (int time = 0; time < 300; ++time) {
    opened += static_cast<int>(pools.overdue(at(time), always).start.size());
    if (time % 30 != 29) continue;
    pools.answered(webhook, Milliseconds(30), at(time));
    pools.ended(webhook, true, at(time));
  }
  BOOST_TEST(opened >= 5);
}

BOOST_AUTO_TEST_CASE(a_quick_pool_keeps_to_one_connection) {
  auto pools = quick_pools();
  int opened = 0;
  for (int time = 0; time < 300; ++time) {
    const delivery::DeliveryId first = std::int64_t{2} * time;
    pools.add(request(first), at(time));
    pools.add(request(first + 1), at(time));
    opened += static_cast<int>(pools.overdue(at(time), always).start.size());
    for (int i = 0; i < 2; ++i) {
      pools.answered(webhook, Milliseconds(1), at(time));
      pools.ended(webhook, true, at(time));
    }
  }
  BOOST_TEST(opened == 0);
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_receiver_that_does_not_answer_is_handed_back) {
  auto pools = quick_pools();
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  pools.answered(webhook, Milliseconds(1), at(500));
  const auto none_may_open = [](auto) { return false; };
  BOOST_TEST(pools.overdue(at(1499), none_may_open).hand_back.empty());
  const auto overdue = pools.overdue(at(1600), none_may_open);
  BOOST_TEST(overdue.start.empty());
  BOOST_TEST(overdue.hand_back.size() == 2U);
  BOOST_TEST(!pools.next_overdue());
  BOOST_TEST(id_of(pools.ended(webhook, true, at(1700))) == 0);
}

BOOST_AUTO_TEST_CASE(nothing_is_handed_back_while_there_is_plenty_of_room) {
  auto pools = quick_pools(3);
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  const auto overdue = pools.overdue(at(1600), always);
  BOOST_TEST(overdue.hand_back.empty());
  BOOST_TEST(overdue.start.size() == 1U);
  pools.add(request(4), at(1600));
  BOOST_TEST(pools.overdue(at(1700), always).hand_back.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_waits_in_a_pool_can_be_dropped) {
  ConnectionPools pools(0);
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  pools.add(request(8, 2), start);
  pools.add(request(9, 2), start);
  BOOST_TEST(pools.drop(webhook).size() == 2U);
  BOOST_TEST(pools.drop(webhook).empty());
  BOOST_TEST(id_of(pools.ended(webhook, false, start)) == 0);
  const auto rest = pools.drop_all();
  BOOST_REQUIRE(rest.size() == 1U);
  BOOST_TEST(rest.front().delivery.id == 9);
  BOOST_TEST(!pools.next_overdue());
}

BOOST_AUTO_TEST_SUITE_END()
