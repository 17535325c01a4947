// Notifications with rows that another session keeps locked are fanned out all the same, but only once. The
// rows are marked `procesada` when the locks are gone.
#include <boost/test/unit_test.hpp>

#include "dispatcher/fan_out/fan_out.hpp"
#include "lib/store/notifications/notifications.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/wait.hpp"

using namespace store;
using namespace store::testing;

namespace {

struct Fixture : DeliveryFixture {
  const Lease lease = long_lease;
  NotificationId id = insert_notification(session, 1);
  Session other = database.connect();
  dispatcher::QueueScanner scanner{{}, 0};
  dispatcher::FairSlots slots{{.total = 10, .per_webhook = 10, .per_host = 10, .longest = {}}};
  const dispatcher::Metrics metrics;

  void lock() {
    other.execute("START TRANSACTION");
    other.query("SELECT id FROM notificaciones_pendientes FOR UPDATE");
  }
  FanOut plan() const {
    return {
        {id}, {}, {{id, webhook.id, ::webhook::Event::evaluacion_cerrada, delivery::DeliveryState::leased}}};
  }
  std::vector<CreatedDelivery> fan_out_past_lock(Session& with) {
    return transaction(with, [&] { return write_fan_out_past_locks(with, plan(), lease); });
  }
  dispatcher::Outcomes write_past_locks(const std::vector<NotificationId>& ids,
                                        dispatcher::LeasedBatch& into) {
    std::vector<dispatcher::JudgedNotification> judged;
    for (auto& notification : read_pending(session, ids))
      judged.push_back(dispatcher::judge(std::move(notification)));
    return dispatcher::FanOutWriter(session, scanner, slots, lease.duration, platform::Log(), metrics)
        .write_past_locks(judged, into);
  }
  std::string own_state() {
    return session.query("SELECT estado FROM notificaciones_pendientes WHERE id = ?", id)
        .at(0)
        .text("estado");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(locked_notifications, Fixture)

BOOST_AUTO_TEST_CASE(a_locked_notification_is_fanned_out_and_shown_as_processed) {
  lock();
  const auto created = fan_out_past_lock(session);
  BOOST_REQUIRE_EQUAL(created.size(), 1U);
  BOOST_CHECK_EQUAL(created.front().webhook, webhook.id);
  BOOST_CHECK_EQUAL(own_state(), "pendiente");
  BOOST_CHECK_EQUAL(find_notification(session, id).value().state, "procesada");
  const auto found = read_pending(session, {id});
  BOOST_REQUIRE_EQUAL(found.size(), 1U);
  BOOST_CHECK(found.front().quarantined && found.front().fanned_out);
}

BOOST_AUTO_TEST_CASE(a_fanned_out_notification_is_marked_once_unlocked) {
  lock();
  fan_out_past_lock(session);
  BOOST_CHECK(finish_fan_out_past_locks(session, {id}) == std::vector{id});
  other.execute("ROLLBACK");
  BOOST_CHECK(finish_fan_out_past_locks(session, {id}).empty());
  BOOST_CHECK_EQUAL(own_state(), "procesada");
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_apartadas").empty());
  BOOST_CHECK(finish_fan_out_past_locks(session, {id}).empty());
}

BOOST_AUTO_TEST_CASE(a_locked_notification_is_fanned_out_only_once) {
  fan_out_past_lock(session);
  BOOST_CHECK_THROW(fan_out_past_lock(other), DuplicateKey);
  BOOST_CHECK_THROW(transaction(other, [&] { return write_fan_out(other, plan(), lease); }), DuplicateKey);
  BOOST_CHECK_EQUAL(own_state(), "pendiente");
}

BOOST_AUTO_TEST_CASE(a_processed_notification_is_not_fanned_out_again) {
  transaction(other, [&] { return write_fan_out(other, plan(), lease); });
  BOOST_CHECK_THROW(fan_out_past_lock(session), Refused);
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_apartadas").empty());
}

BOOST_AUTO_TEST_CASE(a_locked_notification_without_deliveries_is_not_quarantined) {
  lock();
  const FanOut none{{id}, {{id, "datos: no"}}, {}};
  BOOST_CHECK(transaction(session, [&] { return write_fan_out_past_locks(session, none, lease); }).empty());
  BOOST_CHECK(!read_pending(session, {id}).at(0).quarantined);
}

BOOST_AUTO_TEST_CASE(the_operator_cancels_an_unlocked_unmarked_notification) {
  fan_out_past_lock(session);
  session.execute("UPDATE entregas SET estado = 'pendiente', arriendo = NULL, arriendo_hasta = NULL");
  BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::done);
  BOOST_CHECK_EQUAL(own_state(), "cancelada");
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_apartadas").empty());
}

// A locked notification without recipients stays pending; its fan-out is tried again until its row is free.
BOOST_AUTO_TEST_CASE(a_locked_notification_without_subscribers_is_not_counted_as_processed) {
  const auto unsubscribed = insert_notification(session, 2);  // its entity has no webhook
  session.update("INSERT INTO entidades (id, nombre) VALUES (2, 'Dos')");
  lock();
  dispatcher::LeasedBatch batch(slots);
  write_past_locks({id, unsubscribed}, batch);
  BOOST_CHECK_EQUAL(batch.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(metrics.processed.value(), 1U);
}

// If a notification were fanned out while another session cancels or deletes it, its deliveries would be sent
// after the cancellation, or belong to no notification.
BOOST_AUTO_TEST_CASE(a_notification_being_cancelled_or_deleted_waits_for_its_lock) {
  const auto deleted = insert_notification(session, 1);
  const auto locked = insert_notification(session, 1);
  other.execute("START TRANSACTION");
  other.update(
      "UPDATE notificaciones_pendientes SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3) WHERE id = "
      "?",
      id);
  other.update("DELETE FROM notificaciones_pendientes WHERE id = ?", deleted);
  other.query("SELECT id FROM notificaciones_pendientes WHERE id = ? FOR UPDATE", locked);
  dispatcher::LeasedBatch batch(slots);
  const auto outcomes = write_past_locks({id, deleted, locked}, batch);
  other.execute("COMMIT");
  BOOST_CHECK(outcomes.at(id) == dispatcher::Outcome::row_locked);
  BOOST_CHECK(outcomes.at(deleted) == dispatcher::Outcome::row_locked);
  BOOST_CHECK(outcomes.at(locked) == dispatcher::Outcome::unmarked);
  const auto deliveries = session.query("SELECT notificacion_id FROM entregas");
  BOOST_REQUIRE_EQUAL(deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(deliveries.at(0).integer("notificacion_id"), locked);
}

// One batch has no room for all the notifications. The scanner alone would find the rest only seconds later.
BOOST_AUTO_TEST_CASE(locked_notifications_beyond_one_batch_are_in_the_next) {
  using namespace std::chrono_literals;
  constexpr int many = 40;  // with 60 kB of data each, while one batch of fan-out takes at most 1 MiB
  const std::string data = R"({"evaluacionId": 1, "titulo": ")" + std::string(60'000, 'x') + R"("})";
  for (int entity = 2; entity < 2 + many; ++entity) {
    add_webhook(session, entity);
    insert_notification(session, entity, "evaluacion.cerrada", data);
  }
  lock();
  dispatcher::FairSlots many_slots({.total = 1000, .per_webhook = 10, .per_host = 1000, .longest = {}});
  dispatcher::NewerRows newer{platform::Log()};
  dispatcher::FanOut fan_out(session, scanner, many_slots, {}, platform::Log(), metrics, newer);
  dispatcher::LeasedBatch batch(many_slots);
  for (int round = 0; round < 6; ++round) {
    scanner.look(session, platform::monotonic_now(), true);
    fan_out.run_sendable(batch);
  }
  const auto listed = [&] {
    return session.query("SELECT COUNT(*) AS n FROM notificaciones_apartadas WHERE notificacion_id > ?", id)
        .at(0)
        .integer("n");
  };
  const auto patience = platform::monotonic_now() + 3s;
  while (listed() < many && platform::monotonic_now() < patience) {
    const auto due = fan_out.next_locked();
    BOOST_REQUIRE(due);  // the loop waits until then, so without it the rest would wait for the scanner
    wait::until([&] { return platform::monotonic_now() >= *due; }, "the time of the next try");
    fan_out.run_locked(batch);
  }
  BOOST_CHECK_EQUAL(listed(), many);
}

BOOST_AUTO_TEST_SUITE_END()
