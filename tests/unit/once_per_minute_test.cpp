#include "dispatcher/observation/once_per_minute.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(once_per_minute)

BOOST_AUTO_TEST_CASE(the_first_is_reported_and_then_a_sum_each_minute) {
  using namespace std::chrono_literals;
  const platform::MonotonicTime start{1h};
  dispatcher::OncePerMinute sum;
  BOOST_TEST(!sum.add(0, start).has_value());
  BOOST_TEST(sum.add(3, start).value_or(0) == 3U);
  BOOST_TEST(!sum.add(4, start + 59s).has_value());
  BOOST_TEST(sum.add(5, start + 1min).value_or(0) == 9U);
  BOOST_TEST(!sum.add(0, start + 2min).has_value());
  BOOST_TEST(sum.add(2, start + 3min).value_or(0) == 2U);
  BOOST_TEST(!sum.add(1, start + 3min).has_value());
  BOOST_TEST(sum.add(0, start + 4min).value_or(0) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
