// The fan-out of a batch that the database refuses as a whole, and accepts in parts.
#include "dispatcher/fan_out/fan_out_writer.hpp"

#include <boost/test/unit_test.hpp>

#include "dispatcher/fan_out/fan_out_plan.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

using namespace std::chrono_literals;
using dispatcher::Outcome;

/// Two webhooks of entity 1. `webhook` has all events and no slot; `busy` has one event, and the only slot.
struct Fixture : DeliveryFixture {
  Webhook busy =
      create_webhook(
          session,
          {1, "https://otro.example.org/", ::webhook::EventSet::from_joined("evaluacion.cerrada"), {}},
          keys())
          .webhook.value();
  dispatcher::QueueScanner scanner{{}, 0};
  dispatcher::FairSlots slots{{.total = 1, .per_webhook = 10, .per_host = 10, .longest = 1s}};
  const dispatcher::Metrics metrics;

  /// Gives `busy` the only slot. `busy` has answered in 10 ms, so its further deliveries can share that slot,
  /// while `webhook` gets no slot.
  void fill() {
    const dispatcher::Destination destination{busy.id, 1, "otro.example.org:443"};
    BOOST_REQUIRE(slots.take_new(destination));
    slots.ended(busy.id, dispatcher::FairSlots::Outcome::answered, 10ms);
    BOOST_REQUIRE(slots.take_new(destination));
    BOOST_REQUIRE(slots.full());
  }
  void refuse_deliveries_of(NotificationId id) {
    session.execute(
        "CREATE TRIGGER rechazo BEFORE INSERT ON entregas FOR EACH ROW BEGIN IF NEW.notificacion_id = " +
        to_string(id) + " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  }
  dispatcher::Outcomes write(const std::vector<NotificationId>& ids) {
    std::vector<dispatcher::JudgedNotification> judged;
    for (auto& notification : read_pending(session, ids))
      judged.push_back(dispatcher::judge(std::move(notification)));
    dispatcher::LeasedBatch batch(slots);
    return dispatcher::FanOutWriter(session, scanner, slots, long_lease.duration, platform::Log(), metrics)
        .write(judged, dispatcher::Ahead::no, batch);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fan_out_writer, Fixture)

BOOST_AUTO_TEST_CASE(a_notification_overtakes_none_of_its_entity_that_waits_for_a_slot) {
  const auto refused = insert_notification(session, 1);
  const auto waiting = insert_notification(session, 1, "evaluacion.abierta");
  const auto later = insert_notification(session, 1);
  const auto last = insert_notification(session, 1);
  fill();
  refuse_deliveries_of(refused);
  const auto outcomes = write({refused, waiting, later, last});
  BOOST_TEST((outcomes.at(refused) == Outcome::refused));
  BOOST_TEST((outcomes.at(waiting) == Outcome::no_slot));
  BOOST_TEST((outcomes.at(later) == Outcome::no_slot));
  BOOST_TEST((outcomes.at(last) == Outcome::no_slot));
}

BOOST_AUTO_TEST_SUITE_END()
