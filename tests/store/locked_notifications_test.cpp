// Notifications that another session keeps locked are fanned out all the same, once, and are marked as
// processed when their rows are free.
#include <boost/test/unit_test.hpp>

#include "lib/store/notifications/notifications.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

struct Fixture : DeliveryFixture {
  const Lease lease = long_lease;
  NotificationId id = insert_notification(session, 1);
  Session other = database.connect();

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
  std::string own_state() {
    return session.query("SELECT estado FROM notificaciones_pendientes WHERE id = ?", id)
        .at(0)
        .text("estado");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(locked_notifications, Fixture)

BOOST_AUTO_TEST_CASE(it_is_fanned_out_and_shown_as_processed_while_its_row_is_locked) {
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

BOOST_AUTO_TEST_CASE(it_is_marked_once_it_is_free) {
  lock();
  fan_out_past_lock(session);
  BOOST_CHECK(finish_fan_out_past_locks(session, {id}) == std::vector{id});
  other.execute("ROLLBACK");
  BOOST_CHECK(finish_fan_out_past_locks(session, {id}).empty());
  BOOST_CHECK_EQUAL(own_state(), "procesada");
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_apartadas").empty());
  BOOST_CHECK(finish_fan_out_past_locks(session, {id}).empty());
}

BOOST_AUTO_TEST_CASE(it_is_fanned_out_once) {
  fan_out_past_lock(session);
  BOOST_CHECK_THROW(fan_out_past_lock(other), DuplicateKey);
  BOOST_CHECK_THROW(transaction(other, [&] { return write_fan_out(other, plan(), lease); }), DuplicateKey);
  BOOST_CHECK_EQUAL(own_state(), "pendiente");
}

BOOST_AUTO_TEST_CASE(what_was_processed_is_not_fanned_out_again) {
  transaction(other, [&] { return write_fan_out(other, plan(), lease); });
  BOOST_CHECK_THROW(fan_out_past_lock(session), Refused);
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_apartadas").empty());
}

BOOST_AUTO_TEST_CASE(what_has_no_deliveries_is_left) {
  lock();
  const FanOut none{{id}, {{id, "datos: no"}}, {}};
  BOOST_CHECK(transaction(session, [&] { return write_fan_out_past_locks(session, none, lease); }).empty());
  BOOST_CHECK(!read_pending(session, {id}).at(0).quarantined);
}

BOOST_AUTO_TEST_CASE(the_operator_cancels_it_when_it_is_free) {
  fan_out_past_lock(session);
  session.execute("UPDATE entregas SET estado = 'pendiente', arriendo = NULL, arriendo_hasta = NULL");
  BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::done);
  BOOST_CHECK_EQUAL(own_state(), "cancelada");
  BOOST_CHECK(session.query("SELECT 1 FROM notificaciones_apartadas").empty());
}

BOOST_AUTO_TEST_SUITE_END()
