#include "dispatcher/fan_out/refusals.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

using dispatcher::Refusals;
using platform::Milliseconds;
using platform::MonotonicTime;

BOOST_AUTO_TEST_SUITE(refusals)

namespace {

struct Fixture {
  Refusals refusals;
  MonotonicTime now{};
  delivery::NotificationId next_good = 1'000'000'000;

  bool refused(delivery::NotificationId id) { return refusals.refused(id, now); }
  void pass() {
    refusals.passed(next_good);
    next_good = next_good.next();
  }
  /// Refuses each notification from 1 to `count` once; returns how many are bad.
  int refuse(int count) {
    int bad = 0;
    for (int id = 1; id <= count; ++id) bad += refused(id) ? 1 : 0;
    return bad;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_notification_refused_twice_while_another_passes_is_bad, Fixture) {
  BOOST_TEST(!refused(1));
  pass();
  BOOST_TEST(refused(1));
  BOOST_TEST(!refused(1));  // retried by the operator: its refusals count anew
  BOOST_TEST(!refused(1));
  pass();
  BOOST_TEST(refused(1));
}

BOOST_FIXTURE_TEST_CASE(no_notification_is_bad_while_none_passes, Fixture) {
  pass();
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(refuse(50) == 0);
    now += std::chrono::hours(1);
  }
}

BOOST_FIXTURE_TEST_CASE(a_pass_clears_earlier_refusals, Fixture) {
  BOOST_TEST(!refused(1));
  refusals.passed(1);
  BOOST_TEST(refusals.known() == 0U);
  BOOST_TEST(!refused(1));
}

BOOST_FIXTURE_TEST_CASE(the_rate_of_bad_notifications_is_bounded, Fixture) {
  BOOST_TEST(refuse(1000) == 0);
  pass();
  now += std::chrono::hours(5);
  BOOST_TEST(refuse(1000) == static_cast<int>(Refusals::at_once));
  int bad = 0;
  for (int i = 0; i < 10; ++i) {
    now += Milliseconds(1000);
    bad += refuse(1000) > 0 ? 10 : 0;
  }
  BOOST_TEST(bad == 100);
}

BOOST_FIXTURE_TEST_CASE(a_notification_makes_way_an_hour_after_its_last_refusal, Fixture) {
  const auto all = static_cast<int>(Refusals::most_known);
  const delivery::NotificationId further = all + 1;
  refuse(all);
  now += Refusals::remembered / 2;
  refuse(all);
  now += Refusals::remembered / 2;
  BOOST_TEST(!refused(further));
  BOOST_TEST((refusals.knows(1) && !refusals.knows(further)));
  now += Refusals::remembered / 2;
  BOOST_TEST(!refused(further));
  BOOST_TEST((!refusals.knows(1) && refusals.knows(further)));
}

BOOST_FIXTURE_TEST_CASE(the_memory_is_bounded_and_every_bad_notification_is_found, Fixture) {
  const int many = 3 * static_cast<int>(Refusals::most_known);
  int bad = 0;
  for (int round = 0; round < 5 && bad < many; ++round) {
    for (int id = 1; id <= many; ++id) {
      now += Refusals::each;
      if (id % 100 == 0) pass();
      if (refused(round * many + id)) ++bad;  // no notification is refused twice, so none is bad
    }
    BOOST_TEST(refusals.known() <= Refusals::most_known);
  }
  BOOST_TEST(bad == 0);
  std::vector<bool> aside(static_cast<std::size_t>(many) + 1);
  now += Refusals::remembered;
  for (int round = 0; round < 12; ++round) {
    for (int id = 1; id <= many; ++id) {
      if (aside[static_cast<std::size_t>(id)]) continue;
      now += Refusals::each;
      pass();
      aside[static_cast<std::size_t>(id)] = refused(id);
    }
  }
  BOOST_TEST(std::ranges::count(aside, true) == many);
}

BOOST_AUTO_TEST_SUITE_END()
