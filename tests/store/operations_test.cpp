// What an operator or an entity does to deliveries that are under way.
#include <boost/test/unit_test.hpp>

#include "delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

BOOST_FIXTURE_TEST_SUITE(operations, DeliveryFixture)

BOOST_AUTO_TEST_CASE(a_deleted_or_disabled_webhook_yields_nothing) {
  queue_one();
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK(claim_some(1).empty());
  enable_webhook(session, webhook.id, false);
  delete_webhook(session, 1, webhook.id);
  BOOST_CHECK(claim_some(1).empty());
  BOOST_CHECK_EQUAL(reconcile(session).cancelled, 1U);
  BOOST_CHECK_EQUAL(only().state, "cancelada");
}

BOOST_AUTO_TEST_CASE(cancelling_stops_what_has_not_been_sent) {
  queue_one();
  const auto id = only().notification;
  BOOST_CHECK_EQUAL(cancel_notification(session, id).cancelled_deliveries, 1U);
  BOOST_CHECK_EQUAL(only().state, "cancelada");
  BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::wrong_state);
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::wrong_state);
}

BOOST_AUTO_TEST_CASE(an_attempt_in_flight_at_the_cancellation_is_not_repeated) {
  queue_one();
  const auto leased = claim_one();
  BOOST_CHECK_EQUAL(cancel_notification(session, leased.notification).in_flight, 1U);
  record_results(session, {failed_attempt(leased, Milliseconds(0))}, Milliseconds(0));
  BOOST_CHECK(claim_some(1).empty());
  BOOST_CHECK_EQUAL(only().state, "cancelada");
}

BOOST_AUTO_TEST_CASE(a_failed_delivery_is_replayed_alone_or_with_the_rest) {
  queue_one();
  queue_one();
  for (const auto& leased : claim_some(2)) {
    auto delivery_result = failed_attempt(leased, Milliseconds(0));
    delivery_result.state = DeliveryState::failed;
    record_results(session, {delivery_result}, Milliseconds(0));
  }
  BOOST_CHECK_EQUAL(queue_status(session).failed, 2);
  BOOST_CHECK(retry_delivery(session, only().id) == DeliveryChange::done);
  BOOST_CHECK_EQUAL(retry_failed_deliveries(session, webhook.id, UtcTime{}).value(), 1U);
  BOOST_CHECK_EQUAL(queue_status(session).pending_deliveries, 2);
  BOOST_CHECK(retry_delivery(session, 999) == DeliveryChange::not_found);
  BOOST_CHECK(!retry_failed_deliveries(session, 999, UtcTime{}));
}

BOOST_AUTO_TEST_CASE(pause_and_resume) {
  BOOST_CHECK(set_paused(session, true));
  BOOST_CHECK(!set_paused(session, true));
  BOOST_CHECK(is_paused(session));
  BOOST_CHECK(set_paused(session, false));
  BOOST_CHECK(!queue_status(session).paused);
}

BOOST_AUTO_TEST_SUITE_END()
