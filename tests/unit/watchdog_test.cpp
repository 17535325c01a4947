#include "lib/platform/watchdog.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>

using namespace platform;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(watchdog_test)

BOOST_AUTO_TEST_CASE(it_is_fed_no_oftener_than_it_must_be) {
  Watchdog watchdog(8s);
  BOOST_TEST((watchdog.interval() == 2s));
  const auto start = platform::monotonic_now();
  BOOST_TEST(watchdog.feed(start));
  BOOST_TEST(!watchdog.feed(start + 999ms));
  BOOST_TEST(watchdog.feed(start + 1s));
  BOOST_TEST(!watchdog.feed(start + 1999ms));
}

BOOST_AUTO_TEST_CASE(it_is_not_fed_when_the_other_thread_stands_still) {
  Watchdog watchdog(8s);
  const Heartbeat other;
  const auto now = platform::monotonic_now();
  BOOST_TEST(watchdog.feed_if({other}, now));
  BOOST_TEST(watchdog.feed_if({other, other}, now + 3s));
  BOOST_TEST(!watchdog.feed_if({other}, now + 5s));
  BOOST_TEST(!watchdog.feed_if({other}, now + 60s));
}

BOOST_AUTO_TEST_CASE(a_beat_makes_a_heartbeat_young_again) {
  Heartbeat heartbeat;
  const auto later = platform::monotonic_now() + 1h;
  BOOST_TEST((heartbeat.age(later) > 59min));
  heartbeat.beat();
  BOOST_TEST((heartbeat.age(platform::monotonic_now()) < 1min));
}

BOOST_AUTO_TEST_CASE(without_a_watchdog_no_feeding_is_due) {
  Watchdog watchdog(std::nullopt);
  const auto now = platform::monotonic_now();
  BOOST_TEST(!watchdog.feed(now));
  const Heartbeat other;
  BOOST_TEST(!watchdog.feed_if({other}, now));
  BOOST_TEST((watchdog.interval() == 1h));
}

BOOST_AUTO_TEST_CASE(the_limit_is_the_service_managers) {
  ::setenv("WATCHDOG_USEC", "8000000", 1);
  ::unsetenv("WATCHDOG_PID");
  BOOST_TEST((Watchdog().interval() == 2s));
  ::setenv("WATCHDOG_PID", "1", 1);  // the limit is for process 1
  BOOST_TEST((Watchdog().interval() == 1h));
  ::unsetenv("WATCHDOG_USEC");
  ::unsetenv("WATCHDOG_PID");
}

BOOST_AUTO_TEST_SUITE_END()
