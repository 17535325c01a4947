// One entity may use an eighth of the threads; its other requests wait without a thread.
#include "fcgi-app/http/entity_concurrency.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <thread>

using namespace std::chrono_literals;

namespace {

using Turns = api::EntityConcurrency<std::unique_ptr<int>>;
using enum Turns::Entered;

constexpr platform::MonotonicTime start{};

struct Fixture {
  Turns turns{{2, 3, 4, 10s}};

  Turns::Entered come(delivery::EntityId entity, int number, platform::MonotonicTime now = start) {
    auto waiting = std::make_unique<int>(number);
    const auto entered = turns.enter_or_wait(entity, waiting, now);
    BOOST_TEST((waiting == nullptr) == (entered == waits));
    return entered;
  }
  /// Returns the request that gets the place; 0: none.
  int leave(delivery::EntityId entity) {
    const auto next = turns.leave(entity);
    return next ? **next : 0;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(entity_concurrency, Fixture)

BOOST_AUTO_TEST_CASE(an_eighth_of_the_threads_and_one_at_least) {
  BOOST_TEST(api::concurrency_limits(16).running == 2U);
  BOOST_TEST(api::concurrency_limits(7).running == 1U);
  BOOST_TEST(api::concurrency_limits(1).running == 1U);
}

BOOST_AUTO_TEST_CASE(another_entity_has_its_own) {
  BOOST_TEST((turns.enter(1) && turns.enter(1) && !turns.enter(1)));
  BOOST_TEST((turns.enter(2) && turns.enter(2) && !turns.enter(2)));
  BOOST_TEST(leave(1) == 0);
  BOOST_TEST((turns.enter(1) && !turns.enter(2)));
}

BOOST_AUTO_TEST_CASE(waiting_requests_get_free_places_in_order) {
  BOOST_TEST((turns.enter(1) && turns.enter(1)));
  BOOST_TEST((come(1, 11) == waits && come(1, 12) == waits));
  BOOST_TEST(turns.waiting() == 2U);
  BOOST_TEST(leave(1) == 11);
  BOOST_TEST(!turns.enter(1));  // a newcomer overtakes nothing
  BOOST_TEST(leave(1) == 12);
  BOOST_TEST((leave(1) == 0 && leave(1) == 0));
  BOOST_TEST((turns.enter(1) && turns.enter(1) && !turns.enter(1)));
}

BOOST_AUTO_TEST_CASE(a_place_that_came_free_before_the_wait_is_taken_at_once) {
  BOOST_TEST((turns.enter(1) && turns.enter(1) && !turns.enter(1)));
  BOOST_TEST(leave(1) == 0);
  BOOST_TEST((come(1, 11) == at_once));
  BOOST_TEST(!turns.enter(1));
}

BOOST_AUTO_TEST_CASE(waiting_requests_are_bounded_per_entity_and_in_total) {
  for (const delivery::EntityId entity : {1, 2}) BOOST_TEST((turns.enter(entity) && turns.enter(entity)));
  for (int i = 0; i < 3; ++i) BOOST_TEST((come(1, i) == waits));
  BOOST_TEST((come(1, 9) == refused));
  BOOST_TEST((come(2, 20) == waits));
  BOOST_TEST((come(2, 21) == refused));
  BOOST_TEST(leave(1) == 0);  // request number 0 gets the place
  BOOST_TEST((come(2, 22) == waits));
}

BOOST_AUTO_TEST_CASE(nothing_waits_for_ever) {
  for (const delivery::EntityId entity : {1, 2}) BOOST_TEST((turns.enter(entity) && turns.enter(entity)));
  come(1, 11, start);
  come(1, 12, start + 3s);
  come(2, 21, start + 1s);
  BOOST_TEST(turns.take_expired(start + 9s).empty());
  BOOST_TEST(turns.take_expired(start + 11s).size() == 2U);
  BOOST_TEST(turns.waiting() == 1U);
  BOOST_TEST(leave(2) == 0);
  BOOST_TEST(leave(1) == 12);
  BOOST_TEST(turns.take_expired(start + 1h).empty());
}

BOOST_AUTO_TEST_CASE(never_more_at_once) {
  Turns all{{3, 100000, 100000, 10s}};
  std::atomic<int> running = 0, most = 0, served = 0;
  const auto serve = [&] {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --running;
    ++served;
  };
  const auto work = [&] {
    for (int i = 0; i < 2000; ++i) {
      auto request = std::make_unique<int>(i);
      if (!all.enter(7) && all.enter_or_wait(7, request, start) == Turns::Entered::waits) continue;
      do {
        serve();
      } while (all.leave(7));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(work);
  }
  BOOST_TEST(most <= 3);
  BOOST_TEST(served == 8 * 2000);
  BOOST_TEST(all.waiting() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
