#include "dispatcher/observation/once_per_minute.hpp"

#include <boost/test/unit_test.hpp>

#include "dispatcher/observation/slow_tasks.hpp"

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

BOOST_AUTO_TEST_SUITE(slow_tasks)

BOOST_AUTO_TEST_CASE(only_a_task_of_a_second_or_more_is_slow) {
  dispatcher::SlowTasks tasks;
  BOOST_TEST(!tasks.ended("scan", 999ms));
  BOOST_TEST(!tasks.report(start).has_value());
  BOOST_TEST(tasks.ended("claim", 1s));
  const auto report = tasks.report(start);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->times == 1U);
  BOOST_TEST(report->longest == "claim");
  BOOST_TEST((report->took == 1s));
}

BOOST_AUTO_TEST_CASE(a_minute_of_slow_tasks_names_the_longest_of_that_minute) {
  dispatcher::SlowTasks tasks;
  tasks.ended("fan-out", 9s);
  BOOST_TEST(tasks.report(start).has_value());
  tasks.ended("scan", 2s);
  tasks.ended("claim", 3s);
  tasks.ended("scan", 1s);
  BOOST_TEST(!tasks.report(start + 59s).has_value());
  const auto report = tasks.report(start + 1min);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->times == 3U);
  BOOST_TEST(report->longest == "claim");
  BOOST_TEST((report->took == 3s));
  tasks.ended("purge", 2s);
  const auto rest = tasks.report(start + 1min, true);
  BOOST_REQUIRE(rest);
  BOOST_TEST(rest->longest == "purge");
  BOOST_TEST(!tasks.report(start + 1min, true).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
