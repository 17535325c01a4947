#include "dispatcher/scan/look_interval.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(look_interval)

using dispatcher::LookInterval;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(after_a_new_notification_the_wait_is_short_and_doubles_while_none_comes) {
  LookInterval interval(40ms);
  BOOST_TEST((interval.after_none() == 40ms));
  BOOST_TEST((interval.after_new(false) == 5ms));
  BOOST_TEST((interval.after_none() == 10ms));
  BOOST_TEST((interval.after_none() == 20ms));
  BOOST_TEST((interval.after_none() == 40ms));
  BOOST_TEST((interval.after_none() == 40ms));
  BOOST_TEST((interval.after_new(false) == 5ms));
}

BOOST_AUTO_TEST_CASE(unread_notifications_are_work_until_the_next_look) {
  BOOST_TEST((LookInterval(40ms).after_new(true) == 10ms));
}

BOOST_AUTO_TEST_CASE(the_shortest_poll_interval_never_waits_for_nothing) {
  LookInterval interval(1ms);
  BOOST_TEST((interval.after_new(false) == 1ms));
  BOOST_TEST((interval.after_none() == 1ms));
  BOOST_TEST((interval.longest() == 2ms));
}

BOOST_AUTO_TEST_CASE(only_the_second_slow_look_in_a_row_counts) {
  LookInterval interval(40ms);
  BOOST_TEST((interval.counted(1ms) == 0ms));
  BOOST_TEST((interval.counted(10ms) == 1ms));
  BOOST_TEST((interval.counted(20ms) == 10ms));
  BOOST_TEST((interval.counted(1ms) == 1ms));
}

BOOST_AUTO_TEST_SUITE_END()
