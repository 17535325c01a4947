#include "dispatcher/http/poller.hpp"

#include <sys/eventfd.h>

#include <boost/test/unit_test.hpp>
#include <vector>

#include "dispatcher/http/socket.hpp"
#include "tests/wait.hpp"

BOOST_AUTO_TEST_SUITE(poller)

using namespace std::chrono_literals;
using dispatcher::Poller;

BOOST_AUTO_TEST_CASE(all_has_been_read_that_came_before_the_last_wait) {
  Poller poller;
  const auto before = platform::monotonic_now();
  BOOST_TEST(poller.wait(0ms).empty());
  const auto after = platform::monotonic_now();
  BOOST_TEST((poller.read_until() >= before && poller.read_until() <= after));
  BOOST_TEST(!poller.stopped_since(before));
}

// With many receivers that send without end, more sockets may be ready each time than one wait returns.
// Time-outs must be judged all the same.
BOOST_AUTO_TEST_CASE(more_ready_sockets_than_one_wait_returns_delay_time_outs_by_a_second_at_most) {
  Poller poller;
  std::vector<dispatcher::Socket> ready;
  for (int i = 0; i < 300; ++i) {
    ready.emplace_back(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    poller.watch(ready.back().fd(), true, false);
  }
  poller.wait(0ms);
  const auto before = platform::monotonic_now();
  BOOST_TEST((poller.read_until() < before));
  wait::until([&] { return poller.wait(0ms).size() < 256 || poller.read_until() >= before; }, "a time-out");
  BOOST_TEST((poller.read_until() >= before));
}

BOOST_AUTO_TEST_SUITE_END()
