#include "dispatcher/observation/once_per_minute.hpp"

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

namespace {
constexpr platform::MonotonicTime start{1h};
}

BOOST_AUTO_TEST_SUITE(once_per_minute)

BOOST_AUTO_TEST_CASE(the_first_is_reported_and_then_a_sum_each_minute) {
  dispatcher::OncePerMinute sum;
  const auto add = [&](std::uint64_t count, platform::MonotonicTime now) {
    sum.add(count);
    return sum.take_if_due(now);
  };
  BOOST_TEST(!add(0, start).has_value());
  BOOST_TEST(add(3, start).value_or(0) == 3U);
  BOOST_TEST(!add(4, start + 59s).has_value());
  BOOST_TEST(add(5, start + 1min).value_or(0) == 9U);
  BOOST_TEST(!add(0, start + 2min).has_value());
  BOOST_TEST(add(2, start + 3min).value_or(0) == 2U);
  BOOST_TEST(!add(1, start + 3min).has_value());
  BOOST_TEST(add(0, start + 4min).value_or(0) == 1U);
}

BOOST_AUTO_TEST_CASE(a_stop_takes_the_sum_before_the_minute_is_over) {
  dispatcher::OncePerMinute sum;
  BOOST_TEST(!sum.take_if_due(start, true).has_value());
  sum.add(3);
  sum.take_if_due(start);
  sum.add(4);
  BOOST_TEST(!sum.take_if_due(start + 1s).has_value());
  BOOST_TEST(sum.take_if_due(start + 1s, true).value_or(0) == 4U);
  BOOST_TEST(!sum.take_if_due(start + 1s, true).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
