// What the result writer promises without a database: it drops no result and makes no caller wait.
#include "dispatcher/results/result_writer.hpp"

#include <poll.h>

#include <boost/test/unit_test.hpp>

#include "tests/wait.hpp"

using delivery::Attempt;
using delivery::TransportResult;
using dispatcher::ResultWriter;

namespace {

Attempt ended(TransportResult result) {
  Attempt attempt;
  attempt.transport = result;
  attempt.status = 200;
  return attempt;
}

config::DatabaseSettings unreachable_database() {
  config::DatabaseSettings settings;
  settings.socket = "/nonexistent/apientidades.sock";
  return settings;
}

struct Fixture {
  const platform::Log log{platform::LogLevel::error};
  const dispatcher::Metrics metrics;
  config::DeliverySettings settings;
  ResultWriter writer{settings, store::Session(unreachable_database(), {"nobody"}), std::chrono::seconds(10),
                      log, metrics};

  /// Waits until the writer's thread gives its next heartbeat.
  void await_try() const {
    const auto given = platform::monotonic_now();
    wait::until([&] { return writer.heartbeat().age(given).count() < 0; }, "a heartbeat");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(writer, Fixture)

BOOST_AUTO_TEST_CASE(results_wait_for_the_database) {
  writer.add({ended(TransportResult::answered), ended(TransportResult::connection_failed),
              ended(TransportResult::not_started)});
  BOOST_TEST(writer.waiting() == 3U);  // at once, even if the thread has not seen them
  writer.hold({delivery::HeldDelivery{}});
  wait::until([&] { return writer.away(); }, "a try to reach the database");
  BOOST_TEST(writer.stuck());
  await_try();
  BOOST_TEST(writer.waiting() == 4U);
  BOOST_TEST(writer.backlog() == 4U);
  BOOST_TEST(writer.take_done().empty());
}

// Otherwise maintenance could recover their leases, and they would be sent again.
BOOST_AUTO_TEST_CASE(deliveries_with_results_that_wait_are_known) {
  auto attempts = std::vector{ended(TransportResult::answered), ended(TransportResult::not_started)};
  attempts[0].delivery.id = 1;
  attempts[1].delivery.id = 2;  // it was not sent
  writer.add(attempts);
  delivery::HeldDelivery held;
  held.delivery.id = 3;
  writer.hold({held});
  wait::until([&] { return writer.unrecorded() == std::set<delivery::DeliveryId>{1, 3}; }, "both to be told");
}

// take_done() must report the attempt, so that its webhook's slot becomes free.
BOOST_AUTO_TEST_CASE(a_local_failure_is_done_without_a_result) {
  auto attempt = ended(TransportResult::local_failure);
  attempt.delivery.webhook = 7;
  attempt.delivery.entity = 5;
  writer.add({attempt});
  pollfd readable{writer.fd(), POLLIN, 0};
  BOOST_TEST(::poll(&readable, 1, 10'000) == 1);
  const auto done = writer.take_done();
  BOOST_REQUIRE_EQUAL(done.size(), 1U);
  BOOST_TEST(done.front().webhook == 7);
  BOOST_TEST(done.front().entity == 5);
  BOOST_TEST(!done.front().wait.has_value());
  BOOST_TEST(writer.waiting() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
