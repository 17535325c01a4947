// Waits for what another thread does.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string_view>
#include <thread>

#include "lib/platform/clock.hpp"

namespace wait {

/// Returns once the condition holds; fails the test case if it does not within half a minute.
template <class Condition>
void until(Condition&& condition, std::string_view what) {
  const auto deadline = platform::monotonic_now() + std::chrono::seconds(30);
  while (!condition()) {
    BOOST_REQUIRE_MESSAGE(platform::monotonic_now() < deadline, "still waiting for " << what);
    std::this_thread::yield();
  }
}

}  // namespace wait
