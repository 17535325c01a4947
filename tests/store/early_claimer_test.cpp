// Which deliveries the dispatcher claims ahead of their schedule while the database refuses to lease one of
// them.
#include "dispatcher/claims/early_claimer.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;

namespace {

struct EarlyClaimerFixture : DeliveryFixture {
  Webhook other = add_webhook(session, 2);
  platform::DeliverySettings settings{};
  dispatcher::QueueScanner scanner{settings, 0};
  dispatcher::FairSlots slots{{.total = 100, .per_webhook = 10, .per_host = 50, .longest = 15s}};
  dispatcher::EarlyClaimer claimer{session, scanner, slots, settings, platform::Log()};

  /// One delivery of each webhook waits for a retry. The database refuses to lease the delivery of `webhook`.
  EarlyClaimerFixture() {
    for (const EntityId entity : {1, 2}) insert_notification(session, entity);
    fan_out(session);
    for (const auto id : {webhook.id, other.id}) {
      auto result = failed_attempt(claim(session, {{id, 1}}, long_lease).leased.deliveries.at(0), 10h);
      result.failures = 1;
      record_results(session, {result}, {0ms, 15min});
    }
    session.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON entregas FOR EACH ROW BEGIN IF NEW.webhook_id = " +
        to_string(webhook.id) + " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  }

  /// Makes probes and recoveries due, and claims. Returns the webhooks of the claimed deliveries.
  std::vector<WebhookId> claimed() {
    session.update("UPDATE webhook_ejecuciones SET adelantar_en = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
    scanner.look(session, std::max(scanner.next_look(), platform::monotonic_now()), false);
    dispatcher::LeasedBatch batch(slots);
    claimer.claim(batch);
    std::vector<WebhookId> webhooks;
    for (const auto& delivery : batch.deliveries) webhooks.push_back(delivery.webhook);
    return webhooks;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(early_claimer, EarlyClaimerFixture)

BOOST_AUTO_TEST_CASE(a_recovery_that_the_database_refuses_stops_no_other) {
  session.update("UPDATE webhook_ejecuciones SET ultimo_error = ''");
  BOOST_TEST((claimed() == std::vector{other.id}));
}

BOOST_AUTO_TEST_CASE(a_probe_that_the_database_refuses_stops_no_other_and_stays_due) {
  BOOST_TEST((claimed() == std::vector{other.id}));
  const auto due = find_early(session, UtcTime{}, 0, 10);
  BOOST_TEST((due.size() == 1U && due[0].id == webhook.id));
}

BOOST_AUTO_TEST_SUITE_END()
