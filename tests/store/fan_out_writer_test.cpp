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
  dispatcher::ReadySet ready{0};
  dispatcher::FairSlots slots{{.total = 1, .per_webhook = 10, .per_host = 10, .longest = 1s}};
  const dispatcher::Metrics metrics;

  /// Gives `busy` the only slot. `busy` has answered in 10 ms, so its further deliveries can share that slot,
  /// while `webhook` gets no slot.
  void fill() {
    const dispatcher::Destination destination{busy.id, 1, "otro.example.org:443"};
    BOOST_REQUIRE(slots.take_new(destination));
    slots.ended(busy.id, dispatcher::FairSlots::End::answered, 10ms);
    BOOST_REQUIRE(slots.take_new(destination));
    BOOST_REQUIRE(slots.full());
  }
  void refuse_deliveries_of(NotificationId id) {
    session.execute(
        "CREATE TRIGGER rechazo BEFORE INSERT ON entregas FOR EACH ROW BEGIN IF NEW.notificacion_id = " +
        to_string(id) + " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  }
  dispatcher::Outcomes write(const std::vector<NotificationId>& ids) {
    std::vector<NotificationKey> rows;
    for (const auto id : ids) rows.push_back({id, 1});
    dispatcher::PassedOver passed_over;
    dispatcher::LeasedBatch batch(slots);
    return dispatcher::FanOutWriter(session, ready, slots, passed_over, long_lease.duration, platform::Log(),
                                    metrics)
        .write(rows, dispatcher::Ahead::no, batch)
        .outcomes;
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

BOOST_AUTO_TEST_CASE(what_another_session_holds_is_locked_and_what_it_finished_is_not_pending) {
  const auto locked = insert_notification(session, 1);
  const auto finished = insert_notification(session, 1);
  const auto free = insert_notification(session, 1);
  Session other = database.connect();
  BOOST_TEST(finish_fan_out(other, finished));
  other.execute("START TRANSACTION");
  BOOST_TEST(lock_pending(other, {locked}).size() == 1U);
  const auto outcomes = write({locked, finished, free});
  other.execute("ROLLBACK");
  BOOST_TEST(outcomes.size() == 3U);
  BOOST_TEST((outcomes.at(locked) == Outcome::row_locked));
  BOOST_TEST((outcomes.at(finished) == Outcome::not_pending));
  BOOST_TEST((outcomes.at(free) == Outcome::written));
}

BOOST_AUTO_TEST_SUITE_END()
