// What the settler promises without a database: nothing is dropped, and nobody waits for it.
#include "settler.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>

using dispatcher::Attempt;
using dispatcher::Ending;
using dispatcher::Settler;

namespace {

Attempt ended(Ending ending) {
  Attempt attempt;
  attempt.ending = ending;
  attempt.status = 200;
  return attempt;
}

platform::DatabaseSettings nobody() {
  platform::DatabaseSettings settings;
  settings.socket = "/nonexistent/apientidades.sock";
  return settings;
}

struct Fixture {
  const platform::Log log{platform::LogLevel::error};
  const dispatcher::Metrics metrics;
  platform::DeliverySettings settings;
  Settler settler{settings, store::Session(nobody(), {"nobody"}), log, metrics};

  /// Until the thread has had what was given to it.
  void await_try() const {
    const auto given = std::chrono::steady_clock::now();
    while (settler.pulse().age(given).count() >= 0) std::this_thread::yield();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(settler, Fixture)

BOOST_AUTO_TEST_CASE(outcomes_wait_for_the_database) {
  settler.add({ended(Ending::answered), ended(Ending::connection_failed), ended(Ending::not_started)});
  BOOST_TEST(settler.waiting() == 3U);  // at once, though the thread may not have seen them
  settler.hold({store::LeasedDelivery{}});
  await_try();
  BOOST_TEST(settler.waiting() == 4U);
  BOOST_TEST(!settler.refused());  // away is not refused: they will be written
}

BOOST_AUTO_TEST_CASE(what_this_host_could_not_attempt_is_no_outcome) {
  settler.add({ended(Ending::local_failure)});
  while (settler.waiting() > 0) std::this_thread::yield();
  BOOST_TEST(settler.take_wakes().empty());
}

BOOST_AUTO_TEST_SUITE_END()
