#include "dispatcher/fan_out/locked_notifications.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(locked_notifications)

namespace {

using dispatcher::LockedNotifications;
using platform::Milliseconds;
using platform::MonotonicTime;

MonotonicTime at(int milliseconds) {
  return MonotonicTime{std::chrono::hours(1)} + Milliseconds(milliseconds);
}

std::vector<delivery::NotificationId> ids(const std::vector<store::NotificationKey>& notifications) {
  std::vector<delivery::NotificationId> result;
  for (const auto& one : notifications) result.push_back(one.id);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_locked_notification_is_retried_before_its_lock_is_passed) {
  LockedNotifications locked;
  locked.found({1, 7}, at(0));
  locked.found({1, 7}, at(10));  // known already
  BOOST_TEST(locked.take_retries(at(49), 10).empty());
  BOOST_TEST(ids(locked.take_retries(at(50), 10)) == std::vector<delivery::NotificationId>{1});
  locked.found_again({1, 7}, at(50));
  BOOST_TEST(locked.take_locked(at(64), 10).empty());
  BOOST_TEST(ids(locked.take_locked(at(65), 10)) == std::vector<delivery::NotificationId>{1});
  BOOST_TEST(!locked.next_due().has_value());
}

BOOST_AUTO_TEST_CASE(a_notification_unlocked_at_its_retry_starts_anew) {
  LockedNotifications locked;
  locked.found({1, 7}, at(0));
  locked.take_retries(at(50), 10);
  locked.found({1, 7}, at(60));
  BOOST_TEST(locked.take_locked(at(500), 10).empty());
  BOOST_TEST(locked.take_retries(at(500), 10).size() == 1U);
}

BOOST_AUTO_TEST_CASE(no_more_than_asked_for_and_the_oldest_first) {
  LockedNotifications locked;
  for (int id = 1; id <= 3; ++id) locked.found({id, 7}, at(id));
  BOOST_TEST(ids(locked.take_retries(at(500), 2)) == (std::vector<delivery::NotificationId>{1, 2}));
  BOOST_TEST(ids(locked.take_retries(at(500), 2)) == std::vector<delivery::NotificationId>{3});
}

BOOST_AUTO_TEST_CASE(their_number_is_bounded) {
  LockedNotifications locked;
  for (int id = 1; id <= 20'000; ++id) locked.found({id, 7}, at(0));
  BOOST_TEST(locked.take_retries(at(500), 100'000).size() == 10'000U);
}

BOOST_AUTO_TEST_CASE(those_fanned_out_are_marked_once_a_second) {
  LockedNotifications locked;
  locked.fanned_out(1, at(0));
  BOOST_TEST((locked.next_due() == at(1000)));
  BOOST_TEST(locked.take_unfinished(at(999), 10).empty());
  BOOST_TEST(locked.take_unfinished(at(1000), 10) == std::vector<delivery::NotificationId>{1});
  locked.fanned_out(1, at(1000));
  BOOST_TEST(locked.take_unfinished(at(1999), 10).empty());
  BOOST_TEST(locked.take_unfinished(at(2000), 10).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
