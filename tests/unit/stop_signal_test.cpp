#include "lib/platform/stop_signal.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/unit/child.hpp"

using platform::StopSignal;

BOOST_AUTO_TEST_SUITE(stop_signal_test)

BOOST_AUTO_TEST_CASE(either_signal_is_seen_and_stays_so) {
  for (const int number : {SIGTERM, SIGINT}) {
    const auto result = unit::run_in_child([number] {
      const StopSignal stop;
      if (stop.requested() || stop.wait(1)) return 1;
      ::kill(::getpid(), number);
      const bool seen = stop.wait(10000) && stop.requested() && stop.wait(0) && stop.requested();
      return seen ? 0 : 2;
    });
    BOOST_TEST(result.status == 0, result.err);
  }
}

BOOST_AUTO_TEST_CASE(one_signal_wakes_every_thread) {
  const auto result = unit::run_in_child([] {
    const StopSignal stop;
    std::array<bool, 4> woken{};
    {
      std::vector<std::jthread> threads;
      threads.reserve(woken.size());
      for (auto& mine : woken)
        threads.emplace_back([&mine, &stop] {
          pollfd descriptor{stop.fd(), POLLIN, 0};
          mine = ::poll(&descriptor, 1, 10000) == 1;
        });
      ::kill(::getpid(), SIGTERM);
    }
    return woken == std::array<bool, 4>{true, true, true, true} ? 0 : 1;
  });
  BOOST_TEST(result.status == 0);
}

BOOST_AUTO_TEST_CASE(a_peer_that_hangs_up_does_not_end_the_process) {
  const auto result = unit::run_in_child([] {
    const StopSignal stop;
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return 1;
    ::close(ends[0]);
    return ::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 2;
  });
  BOOST_TEST(result.status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
