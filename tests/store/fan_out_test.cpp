// What waits to be fanned out, and to whom it goes.
#include <boost/test/unit_test.hpp>

#include "delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

BOOST_FIXTURE_TEST_SUITE(fan_out_of_notifications, DeliveryFixture)

BOOST_AUTO_TEST_CASE(every_entity_that_waits_is_found_and_what_others_hold_is_skipped) {
  for (const EntityId entity : {3, 5, 9}) insert_notification(session, entity);
  BOOST_CHECK((waiting_entities(session) == std::vector<EntityId>{3, 5, 9}));
  Session other = database.connect();
  other.execute("START TRANSACTION");
  BOOST_CHECK_EQUAL(take_pending(other, {{3, 0, 10}}).notifications.size(), 1U);
  BOOST_CHECK_EQUAL(take_pending(session, {{3, 0, 10}, {9, 0, 10}}).notifications.size(), 1U);
  BOOST_CHECK_EQUAL(take_pending(session, {{3, 0, 10}}).reached.at(3).found, 1U);  // held, and there
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(new_notifications_are_found_by_their_ids) {
  const auto before = insert_notification(session, 3);
  BOOST_CHECK_EQUAL(peek_queue(session).newest, before);
  const auto first = insert_notification(session, 5);
  insert_notification(session, 5);
  const auto last = insert_notification(session, 4);
  const auto found = find_new_notifications(session, before, 10);
  BOOST_CHECK((found.entities == std::set<EntityId>{4, 5}));
  BOOST_CHECK(found.last == last && !found.more);
  const auto some = find_new_notifications(session, before, 2);
  BOOST_CHECK(some.more && some.last == first + 1);
  BOOST_CHECK(find_new_notifications(session, last, 2).entities.empty());
}

BOOST_AUTO_TEST_CASE(recipients_of_unknown_and_disabled_entities) {
  add_entity(session, 2, "sin webhooks");
  set_entity_active(session, 2, false);
  const auto recipients = load_recipients(session, {1, 2, 3});
  BOOST_CHECK_EQUAL(recipients.at(1).webhooks.size(), 1U);
  BOOST_CHECK(!recipients.at(2).active && recipients.at(2).webhooks.empty());
  BOOST_CHECK(!recipients.contains(3));
}

BOOST_AUTO_TEST_CASE(what_is_created_leased_is_returned_and_not_claimed_again) {
  insert_notification(session, 1);
  insert_notification(session, 1);
  BOOST_CHECK_EQUAL(fan_out(session, DeliveryState::leased).size(), 2U);
  BOOST_CHECK(claim_some(10).empty());
  BOOST_CHECK_EQUAL(queue_status(session).in_flight, 2);
}

BOOST_AUTO_TEST_CASE(a_date_that_is_none_is_refused_or_comes_without_a_time) {
  // Some modes of the writer's session let a month or a day of 0 in.
  session.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES'");
  BOOST_CHECK_THROW(
      session.execute("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
                      " VALUES (1, 'evaluacion.cerrada', '{}', '2026-00-15')"),
      DatabaseError);
  session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT ocurrida_en_no_es_fecha");
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
      " VALUES (1, 'evaluacion.cerrada', '{}', '2026-00-15')");
  BOOST_CHECK(!take_pending(session, {{1, 0, 10}}).notifications.at(0).occurred.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
