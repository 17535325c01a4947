// limits.registrations, the registrations per hour of one entity, under concurrency and over time.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "tests/store/maintenance_support.hpp"
#include "tests/store/quota_support.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;

namespace {

NewWebhook registration(EntityId entity) {
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  return {entity, "https://receptor.example.org/", events, {}};
}

/// Registers a webhook, deletes it and returns 0. If the quota refuses it, returns the seconds to wait.
unsigned register_one(Session& session, unsigned limit, EntityId entity = 1) {
  try {
    const auto made = despite_lock_timeouts(
        [&] { return create_webhook(session, registration(entity), keys(), limit).webhook.value(); });
    if (!despite_lock_timeouts([&] { return delete_webhook(session, {entity}, made.id); }))
      throw std::runtime_error("the registered webhook is not there");
    return 0;
  } catch (const OverQuota& refused) {
    return refused.retry_after_s;
  }
}

struct Fixture : MaintenanceFixture {
  Fixture() {
    add_entity(session, 1, "Entidad");
    add_entity(session, 2, "Entidad");
  }
  /// Returns how many of `tries` registrations are accepted.
  int accepted(int tries, unsigned limit) {
    int passed = 0;
    for (int i = 0; i < tries; ++i) passed += register_one(session, limit) == 0 ? 1 : 0;
    return passed;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(registration_quota, Fixture)

BOOST_AUTO_TEST_CASE(the_level_says_what_would_still_pass) {
  const auto level = [&](EntityId entity) { return level_of(session, Quota::changes, entity, 6); };
  set_clock({});
  BOOST_TEST(level(1).left == 6U);  // no row yet
  BOOST_TEST(level(1).more_s == 0U);
  for (unsigned left = 6; left-- > 0;) {
    BOOST_TEST(register_one(session, 6) == 0U);
    BOOST_TEST(level(1).left == left);
    BOOST_TEST(level(1).more_s > 590U);
    BOOST_TEST(level(1).more_s <= 600U);
  }
  BOOST_TEST(register_one(session, 6) >= level(1).more_s);  // Retry-After is not earlier
  BOOST_TEST(level(2).left == 6U);
  set_clock(Milliseconds(601 * 1000));
  BOOST_TEST(level(1).left == 1U);
  set_clock(Milliseconds(3601 * 1000));
  BOOST_TEST(level(1).left == 6U);
  BOOST_TEST(level(1).more_s == 0U);
}

BOOST_AUTO_TEST_CASE(the_level_of_an_overdrawn_bucket_is_0_for_a_window_at_most) {
  lock_test_quotas(session, 1);
  use_quota(session, Quota::test_bytes, 1, 1000, 5000);  // more than the limit passes when the bucket is full
  const auto level = level_of(session, Quota::test_bytes, 1, 1000);
  BOOST_TEST(level.left == 0U);
  BOOST_TEST(level.more_s > 0U);
  BOOST_TEST(level.more_s <= 87U);
}

BOOST_AUTO_TEST_CASE(the_hourly_registration_quota_refills_gradually) {
  set_clock({});
  BOOST_TEST(accepted(8, 6) == 6);  // deleted webhooks count, too
  BOOST_TEST(register_one(session, 6) > 590U);
  BOOST_TEST(register_one(session, 6) <= 600U);
  BOOST_TEST(register_one(session, 6, 2) == 0U);  // another entity has its own quota
  set_clock(Milliseconds(590 * 1000));
  BOOST_TEST(register_one(session, 6) > 0U);
  set_clock(Milliseconds(600 * 1000));
  BOOST_TEST(accepted(2, 6) == 1);
  set_clock(3 * hour);
  BOOST_TEST(accepted(8, 6) == 6);  // hours without a registration do not add up
}

BOOST_AUTO_TEST_CASE(a_clock_that_goes_back_costs_one_share_at_most) {
  set_clock(day);
  BOOST_TEST(accepted(6, 6) == 6);
  set_clock({});
  const auto wait = register_one(session, 6);
  BOOST_TEST(wait > 590U);
  BOOST_TEST(wait <= 600U);
}

BOOST_AUTO_TEST_CASE(a_limit_that_changes_holds_at_once) {
  set_clock({});
  BOOST_TEST(accepted(6, 6) == 6);
  BOOST_TEST(register_one(session, 3600) <= 1U);
  BOOST_TEST(register_one(session, 1) > 3590U);
  BOOST_TEST(accepted(9, 0) == 9);
}

// 3600 s divided by 7 is no whole number of microseconds. The seventh registration must still be accepted.
BOOST_AUTO_TEST_CASE(the_hour_is_divided_without_loss) {
  set_clock({});
  for (const unsigned limit : {1U, 7U, 60U, 77U}) {
    session.execute("DELETE FROM altas_webhook");
    BOOST_TEST(accepted(static_cast<int>(limit) + 1, limit) == static_cast<int>(limit));
  }
}

BOOST_AUTO_TEST_CASE(what_is_refused_for_another_reason_does_not_count) {
  set_clock({});
  for (int i = 0; i < 5; ++i) create_webhook(session, registration(2), keys(), 6);
  for (int i = 0; i < 9; ++i) BOOST_TEST(!create_webhook(session, registration(2), keys(), 6).webhook);
  delete_webhook(session, {2}, number("SELECT MAX(id) FROM webhooks"));
  BOOST_TEST(register_one(session, 6, 2) == 0U);
  BOOST_TEST(register_one(session, 6, 2) > 0U);
}

BOOST_AUTO_TEST_CASE(without_a_limit_nothing_is_counted) {
  BOOST_TEST(accepted(9, 0) == 9);
  BOOST_TEST(count("altas_webhook") == 0);
}

BOOST_AUTO_TEST_CASE(sessions_at_once_never_exceed_it_and_are_in_no_conflict) {
  std::atomic<int> passed = 0;
  std::atomic<int> conflicts = 0;
  run_at_once(5, [&](int) {  // an entity has at most five webhooks at once
    auto one = connect_counting(database, conflicts);
    for (int n = 0; n < 9; ++n) passed += register_one(one, 20) == 0 ? 1 : 0;
  });
  BOOST_TEST(passed == 20);
  BOOST_TEST(conflicts == 0);
}

BOOST_AUTO_TEST_SUITE_END()
