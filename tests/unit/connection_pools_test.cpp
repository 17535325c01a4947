#include "dispatcher/http/connection_pools.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(pools)

namespace {

using dispatcher::Connecting;
using dispatcher::ConnectionPools;
using dispatcher::Request;
using platform::Milliseconds;
using platform::MonotonicTime;

const MonotonicTime start{std::chrono::hours(1)};
constexpr delivery::WebhookId webhook = 1;
constexpr unsigned per_host = 50;
constexpr std::size_t most = 8;  // further connections at once

MonotonicTime at(int milliseconds) { return start + Milliseconds(milliseconds); }

/// The host of a webhook's requests, except those of at_provider().
std::string host_of(delivery::WebhookId id) { return "h" + to_string(id) + ":443"; }

Request request(delivery::DeliveryId id, delivery::WebhookId to = webhook, unsigned slots = 10) {
  Request result;
  result.delivery.id = id;
  result.delivery.webhook = to;
  result.host = host_of(to);
  result.slots = slots;
  return result;
}

Request at_provider(delivery::DeliveryId id, delivery::WebhookId to) {
  auto result = request(id, to, 1);
  result.host = "provider:443";
  return result;
}

delivery::DeliveryId id_of(const std::optional<Request>& request) {
  return request ? request->delivery.id : 0;
}

delivery::DeliveryId ended(ConnectionPools& pools, bool kept, MonotonicTime now,
                           delivery::WebhookId id = webhook) {
  return id_of(pools.ended(host_of(id), id, kept, now));
}

ConnectionPools::Find finds(Connecting found) {
  return [found](const Request& /*next*/, MonotonicTime /*since*/) { return found; };
}

ConnectionPools::Overdue overdue(ConnectionPools& pools, MonotonicTime now, bool room = true) {
  return pools.overdue(now, most, room, finds(Connecting::no));
}

/// What is overdue while a connection to each host is being made.
ConnectionPools::Overdue overdue_while_connecting(ConnectionPools& pools, MonotonicTime now) {
  return pools.overdue(now, most, true, finds(Connecting::yes));
}

}  // namespace

BOOST_AUTO_TEST_CASE(requests_of_one_webhook_follow_each_other_in_their_order) {
  ConnectionPools pools(per_host);
  BOOST_TEST(id_of(pools.add(request(1), start)) == 1);
  BOOST_TEST(id_of(pools.add(request(2), start)) == 0);
  BOOST_TEST(id_of(pools.add(request(3), start)) == 0);
  BOOST_TEST(ended(pools, true, start) == 2);
  BOOST_TEST(ended(pools, false, start) == 3);
  BOOST_TEST(ended(pools, true, start) == 0);
  BOOST_TEST(!pools.next_overdue());
}

BOOST_AUTO_TEST_CASE(another_host_has_a_pool_of_its_own) {
  ConnectionPools pools(per_host);
  pools.add(request(1), start);
  BOOST_TEST(id_of(pools.add(request(2, 2), start)) == 2);
}

BOOST_AUTO_TEST_CASE(long_waits_open_further_connections_one_at_a_time) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  BOOST_TEST((pools.next_overdue() == at(100)));
  BOOST_TEST(overdue(pools, at(99)).start.empty());
  const auto first = overdue(pools, at(100)).start;
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_TEST(first.front().delivery.id == 2);
  BOOST_TEST((pools.next_overdue() == at(120)));
  BOOST_TEST(overdue(pools, at(120)).start.front().delivery.id == 3);
  BOOST_TEST(!pools.next_overdue());
}

BOOST_AUTO_TEST_CASE(a_pool_refused_a_connection_is_due_again_soon) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 2; ++i) pools.add(request(i), start);
  BOOST_TEST(overdue_while_connecting(pools, at(100)).start.empty());
  BOOST_TEST((pools.next_overdue() == at(120)));
  BOOST_TEST(overdue(pools, at(120)).start.size() == 1U);
}

BOOST_AUTO_TEST_CASE(connections_that_are_open_are_used_at_once) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 2; ++i) pools.add(request(i), start);
  overdue(pools, at(100));
  ended(pools, true, at(110));
  ended(pools, true, at(110));
  BOOST_TEST(id_of(pools.add(request(3), at(120))) == 3);
  BOOST_TEST(id_of(pools.add(request(4), at(120))) == 4);
  BOOST_TEST(id_of(pools.add(request(5), at(120))) == 0);
}

BOOST_AUTO_TEST_CASE(no_more_is_under_way_than_the_webhook_has_slots) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 4; ++i) pools.add(request(i, webhook, 2), start);
  BOOST_TEST(overdue(pools, at(200)).start.size() == 1U);
  BOOST_TEST(overdue(pools, at(900)).start.empty());
  BOOST_TEST(ended(pools, true, at(900)) == 3);
}

BOOST_AUTO_TEST_CASE(webhooks_of_one_host_take_turns_on_its_connections) {
  ConnectionPools pools(per_host);
  BOOST_TEST(id_of(pools.add(at_provider(1, 1), start)) == 1);
  for (int i = 2; i <= 3; ++i) pools.add(at_provider(i, 1), start);
  pools.add(at_provider(9, 2), start);
  BOOST_TEST(id_of(pools.ended("provider:443", 1, true, start)) == 9);
  BOOST_TEST(id_of(pools.ended("provider:443", 2, true, start)) == 2);
}

BOOST_AUTO_TEST_CASE(a_webhook_with_nothing_under_way_does_not_wait_for_another_connection) {
  ConnectionPools pools(per_host);
  pools.add(at_provider(1, 1), start);
  pools.add(at_provider(2, 2), start);
  BOOST_TEST(overdue_while_connecting(pools, at(99)).start.empty());
  BOOST_TEST(overdue_while_connecting(pools, at(100)).start.size() == 1U);
}

// Otherwise each host of a broadcast to thousands would ask for several connections while the first ones wait
// to be dialled, and all requests would wait for handshakes that bring nothing.
BOOST_AUTO_TEST_CASE(no_request_gets_a_further_connection_while_earlier_ones_wait_to_be_dialled) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 3; ++i) pools.add(at_provider(i, i), start);
  pools.answered("provider:443", Milliseconds(5));
  const auto older_wait = [](const Request& /*next*/, MonotonicTime since) {
    return since == start ? Connecting::others_first : Connecting::no;
  };
  BOOST_TEST(pools.overdue(at(100), most, true, older_wait).start.empty());
  BOOST_TEST(id_of(pools.ended("provider:443", 1, true, at(110))) == 2);  // served by the kept connection
  BOOST_TEST((pools.next_overdue() == at(120)));
  BOOST_TEST(overdue(pools, at(120)).start.size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_exceeds_the_connections_at_once_stays_due) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 20; ++i) pools.add(at_provider(i, i), start);
  const auto first = overdue(pools, at(100)).start.size();
  const auto second = overdue(pools, at(120)).start.size();
  const auto third = overdue(pools, at(140)).start.size();
  BOOST_TEST(first == most);
  BOOST_TEST(second == most);
  BOOST_TEST(third == 3U);  // the first connection serves one of the twenty
}

BOOST_AUTO_TEST_CASE(a_slow_webhook_does_not_hide_a_quick_one_of_its_host) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 3; ++i) {
    auto next = at_provider(i, i);
    next.to_quick = i == 3;
    pools.add(std::move(next), start);
  }
  const auto found = pools.overdue(at(100), most, true, [](const Request& next, MonotonicTime /*since*/) {
    return next.to_quick ? Connecting::yes : Connecting::others_first;
  });
  BOOST_REQUIRE(found.start.size() == 1U);
  BOOST_TEST(found.start.front().delivery.id == 3);
}

BOOST_AUTO_TEST_CASE(a_busy_webhook_does_not_hide_idle_webhooks_of_its_host) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 2; ++i) {
    auto busy = at_provider(i, 9);
    busy.slots = 2;
    pools.add(std::move(busy), start);
  }
  for (int i = 3; i <= 5; ++i) pools.add(at_provider(i, i), start);
  BOOST_TEST(overdue_while_connecting(pools, at(100)).start.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_host_has_a_limit) {
  ConnectionPools pools(2);
  for (int i = 1; i <= 4; ++i) pools.add(at_provider(i, i), start);
  BOOST_TEST(overdue(pools, at(100)).start.size() == 1U);
  BOOST_TEST(overdue(pools, at(500)).start.empty());
  BOOST_TEST(id_of(pools.ended("provider:443", 1, true, at(500))) == 3);
}

// An answer every 30 ms must not postpone further connections while many requests wait.
BOOST_AUTO_TEST_CASE(a_pool_that_moves_slowly_gets_connections_too) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 30; ++i) pools.add(request(i), start);
  int opened = 0;
  for (int time = 0; time < 300; ++time) {
    opened += static_cast<int>(overdue(pools, at(time)).start.size());
    if (time % 30 != 29) continue;
    pools.answered(host_of(webhook), Milliseconds(30));
    ended(pools, true, at(time));
  }
  BOOST_TEST(opened >= 5);
}

BOOST_AUTO_TEST_CASE(without_room_no_connection_is_opened_in_advance) {
  ConnectionPools pools(per_host);
  pools.add(request(1), start);
  pools.answered(host_of(webhook), Milliseconds(1000));
  pools.add(request(2), at(1));
  BOOST_TEST((pools.next_overdue() == at(20)));
  BOOST_TEST(overdue(pools, at(20), false).start.empty());
  BOOST_TEST((pools.next_overdue() == at(40)));
  BOOST_TEST(overdue(pools, at(40), true).start.size() == 1U);
  pools.add(request(3), at(41));
  BOOST_TEST(overdue(pools, at(141), false).start.size() == 1U);  // request 3 has waited for 100 ms
}

BOOST_AUTO_TEST_CASE(without_room_kept_connections_are_replaced_one_after_the_other) {
  ConnectionPools pools(per_host);
  for (int id = 1; id <= 4; ++id) {
    pools.add(request(id, id), start);
    pools.add(request(10 + id, id), start);
    pools.add(request(20 + id, id), start);
  }
  BOOST_TEST(overdue(pools, at(99), false).start.empty());
  std::map<std::string, int> started;
  for (int now = 100; now < 180; ++now) {
    const auto found = overdue(pools, at(now), false);
    BOOST_TEST(found.start.size() <= 1U);
    for (const auto& one : found.start) ++started[one.host];
  }
  BOOST_TEST(started.size() == 4U);  // each host got one connection
  for (const auto& [host, count] : started) BOOST_TEST(count == 1);
}

BOOST_AUTO_TEST_CASE(a_time_to_replace_a_connection_that_is_not_used_lapses) {
  ConnectionPools pools(per_host);
  const auto wait_in_all = [&pools](MonotonicTime since) {
    for (int id = 1; id <= 10; ++id) {
      pools.add(request(id, id), since);
      for (int more = 1; more <= 2; ++more) pools.add(request(10 * more + id, id), since);
    }
  };
  wait_in_all(start);
  BOOST_TEST(overdue(pools, at(100), false).start.size() == 1U);
  for (int id = 1; id <= 10; ++id) pools.take_waiting(host_of(id), id);
  for (int id = 1; id <= 10; ++id) pools.add(request(40 + id, id), at(1000));
  BOOST_TEST(overdue(pools, at(1100), false).start.size() == 1U);
}

BOOST_AUTO_TEST_CASE(without_room_a_webhook_with_nothing_in_flight_gets_a_connection_at_once) {
  ConnectionPools pools(per_host);
  for (const int id : {1, 2}) {
    pools.add(request(id, id), start);
    pools.add(request(10 + id, id), start);
  }
  for (int i = 1; i <= 3; ++i) pools.add(at_provider(i, i), start);
  // The provider gets two connections, and one of the other two hosts gets one.
  BOOST_TEST(overdue(pools, at(100), false).start.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_quick_pool_keeps_to_one_connection) {
  ConnectionPools pools(per_host);
  int opened = 0;
  for (int time = 0; time < 300; ++time) {
    const delivery::DeliveryId first = std::int64_t{2} * time;
    pools.add(request(first), at(time));
    pools.add(request(first.next()), at(time));
    opened += static_cast<int>(overdue(pools, at(time)).start.size());
    for (int i = 0; i < 2; ++i) {
      pools.answered(host_of(webhook), Milliseconds(1));
      ended(pools, true, at(time));
    }
  }
  BOOST_TEST(opened == 0);
}

BOOST_AUTO_TEST_CASE(requests_that_waited_a_second_are_handed_back) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  BOOST_TEST(overdue_while_connecting(pools, at(999)).hand_back.empty());
  const auto late = overdue_while_connecting(pools, at(1100));
  BOOST_TEST(late.start.empty());
  BOOST_TEST(late.hand_back.size() == 2U);
  BOOST_TEST(!pools.next_overdue());
  BOOST_TEST(ended(pools, true, at(1200)) == 0);
}

BOOST_AUTO_TEST_CASE(a_pool_is_forgotten_once_none_of_its_connections_can_be_open) {
  ConnectionPools pools(per_host);
  constexpr auto life = static_cast<int>(Milliseconds(dispatcher::longest_life).count());
  const auto use_twice = [&](int time) {  // on two connections, which are kept
    pools.add(request(1), at(time));
    pools.add(request(2), at(time));
    BOOST_REQUIRE(overdue(pools, at(time + 100)).start.size() <= 1U);
    for (int i = 0; i < 2; ++i) ended(pools, true, at(time + 200));
  };
  use_twice(0);
  overdue(pools, at(200 + life - 1));
  BOOST_TEST(pools.size() == 1U);
  use_twice(200 + life - 1);
  overdue(pools, at(400 + life));
  BOOST_TEST(pools.size() == 1U, "the pool was used again");
  overdue(pools, at(400 + 3 * life));
  BOOST_TEST(pools.size() == 0U);
}

BOOST_AUTO_TEST_CASE(connections_made_at_once_to_many_hosts_do_not_end_at_once) {
  constexpr int hosts = 1000;
  std::map<std::chrono::seconds, int> ends;
  for (int i = 0; i < hosts; ++i) ++ends[dispatcher::connection_life(host_of(i))];
  BOOST_TEST(ends.begin()->first.count() >= 60);
  BOOST_TEST(ends.rbegin()->first.count() <= 120);
  for (const auto& [life, count] : ends) BOOST_TEST(count < hosts / 10, life.count() << " s");
}

BOOST_AUTO_TEST_CASE(a_pool_left_with_one_connection_is_forgotten_at_once) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 2; ++i) pools.add(request(i), start);
  BOOST_TEST(overdue(pools, at(100)).start.size() == 1U);
  for (int i = 0; i < 2; ++i) ended(pools, true, at(110));
  BOOST_TEST(pools.size() == 1U);
  pools.add(request(3), at(120));
  ended(pools, false, at(130));
  BOOST_TEST(pools.size() == 0U);
  BOOST_TEST(!pools.next_overdue());
}

BOOST_AUTO_TEST_CASE(what_waits_in_a_pool_can_be_taken_out) {
  ConnectionPools pools(per_host);
  for (int i = 1; i <= 3; ++i) pools.add(request(i), start);
  pools.add(request(8, 2), start);
  pools.add(request(9, 2), start);
  BOOST_TEST(pools.take_waiting(host_of(webhook), webhook).size() == 2U);
  BOOST_TEST(pools.take_waiting(host_of(webhook), webhook).empty());
  BOOST_TEST(ended(pools, false, start) == 0);
  const auto rest = pools.take_all_waiting();
  BOOST_REQUIRE(rest.size() == 1U);
  BOOST_TEST(rest.front().delivery.id == 9);
}

BOOST_AUTO_TEST_CASE(an_open_connection_is_expected_where_nothing_is_under_way) {
  ConnectionPools pools(per_host);
  BOOST_TEST(pools.may_have_idle(host_of(webhook)));
  BOOST_TEST(id_of(pools.add(request(1), start)) == 1);
  BOOST_TEST(!pools.may_have_idle(host_of(webhook)));
  ended(pools, true, start);
  BOOST_TEST(pools.may_have_idle(host_of(webhook)));
}

BOOST_AUTO_TEST_CASE(which_of_two_connections_is_taken_is_not_known) {
  ConnectionPools pools(per_host);
  pools.add(request(1), start);
  pools.add(request(2), start);
  BOOST_TEST(overdue(pools, at(500)).start.size() == 1U);
  ended(pools, true, start);
  // It is not known whether request 2 uses the connection that was kept.
  BOOST_TEST(!pools.may_have_idle(host_of(webhook)));
}

BOOST_AUTO_TEST_SUITE_END()
