// Notifications for later (no_antes_de): out of the queue until then, and found by their time.
#include <boost/test/unit_test.hpp>

#include "lib/store/backlog/locked_notifications.hpp"
#include "lib/store/notifications/deferred.hpp"
#include "lib/store/session/batches.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(deferred_notifications, DeliveryFixture)

namespace {

/// Writes `count` notifications of entity 1 for tomorrow, defers them, and returns their ids.
std::vector<NotificationId> defer_some(Session& session, unsigned count) {
  for (unsigned i = 0; i < count; ++i) insert_notification(session, 1);
  session.execute("UPDATE notificaciones_pendientes SET no_antes_de = UTC_TIMESTAMP(3) + INTERVAL 1 DAY");
  std::vector<NotificationId> ids;
  for (const auto& key : find_oldest_pending(session, {{1, 0, count}})) ids.push_back(key.id);
  transaction(session, [&] {
    for (const auto& one : lock_pending(session, ids)) BOOST_REQUIRE(one.later);
    return write_fan_out(
        session, {.processed = {}, .unreached = {}, .deferred = ids, .rejected = {}, .deliveries = {}},
        long_lease);
  });
  BOOST_REQUIRE_EQUAL(ids.size(), count);
  return ids;
}

/// As if their time had come.
void hasten(Session& session) {
  session.execute(
      "UPDATE notificaciones_pendientes SET no_antes_de = UTC_TIMESTAMP(3), aplazada_hasta = no_antes_de");
}

DeferredWalk release_all(Session& session) {
  DeferredWalk walk;
  while (!walk.done) release_deferred(session, walk);
  return walk;
}

std::int64_t count(Session& session, const std::string& of) {
  return session.query("SELECT COUNT(*) AS n FROM " + of).at(0).integer("n");
}
constexpr auto* deferred =
    "notificaciones_pendientes WHERE estado = 'pendiente' AND aplazada_hasta IS NOT NULL";

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_out_of_the_queue_until_its_time_and_pending_from_then_on) {
  const auto ids = defer_some(session, 2);
  BOOST_TEST(!peek_queue(session).pending_notifications);
  BOOST_TEST(!any_deferred_due(session));
  BOOST_TEST(release_all(session).released == 0U);
  BOOST_TEST(queue_status(session).deferred == 2);
  BOOST_TEST(queue_status(session).pending_notifications == 0);
  hasten(session);
  BOOST_TEST(any_deferred_due(session));
  const auto walk = release_all(session);
  BOOST_TEST(walk.released == 2U);
  BOOST_TEST((walk.entities == std::set<EntityId>{1}));
  BOOST_TEST((find_pending(session, ids).size()) == 2U);
  BOOST_TEST(count(session, deferred) == 0);
  BOOST_TEST(fan_out(session).size() == 0U);
  BOOST_TEST(list_deliveries(session, {}).size() == 2U);
}

BOOST_AUTO_TEST_CASE(more_than_a_batch_of_the_same_instant_is_released) {
  defer_some(session, batch_rows + 100);
  hasten(session);
  session.execute("UPDATE notificaciones_pendientes SET aplazada_hasta = '2026-01-01'");
  BOOST_TEST(release_all(session).released == batch_rows + 100);
  BOOST_TEST(count(session, deferred) == 0);
}

BOOST_AUTO_TEST_CASE(a_cancelled_one_is_not_released) {
  const auto ids = defer_some(session, 2);
  const auto preview = preview_cancel_notification(session, ids[0]);
  BOOST_TEST((preview.change == NotificationChange::done));
  BOOST_TEST((cancel_notification(session, ids[0]).change == NotificationChange::done));
  hasten(session);
  BOOST_TEST(release_all(session).released == 1U);
  BOOST_TEST(find_notification(session, ids[0])->state == "cancelada");
  BOOST_TEST(count(session, deferred) == 0);
}

BOOST_AUTO_TEST_CASE(a_locked_one_waits_for_the_next_walk_alone) {
  const auto ids = defer_some(session, 3);
  hasten(session);
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT id FROM notificaciones_pendientes WHERE id = ? FOR UPDATE", ids[0]);
  BOOST_TEST(release_all(session).released == 2U);
  BOOST_TEST(count(session, deferred) == 1);
  other.execute("ROLLBACK");
  BOOST_TEST(release_all(session).released == 1U);
  BOOST_TEST(count(session, deferred) == 0);
}

BOOST_AUTO_TEST_CASE(one_that_the_database_refuses_stops_no_other) {
  const auto ids = defer_some(session, 3);
  hasten(session);
  session.execute(
      "CREATE TRIGGER del_sitio BEFORE UPDATE ON notificaciones_pendientes FOR EACH ROW IF NEW.id = " +
      to_string(ids[1]) + " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF");
  const auto walk = release_all(session);
  BOOST_TEST(walk.released == 2U);
  BOOST_TEST(walk.refusal.find(to_string(ids[1])) != std::string::npos);
  session.execute("DROP TRIGGER del_sitio");
  BOOST_TEST(release_all(session).released == 1U);
}

BOOST_AUTO_TEST_CASE(deferring_keeps_the_size_of_the_row_and_writes_a_date) {
  const auto bytes =
      "SELECT COALESCE(LENGTH(relleno), 0) + 7 * (aplazada_hasta IS NOT NULL) AS n FROM "
      "notificaciones_pendientes";
  const auto ids = defer_some(session, 1);
  BOOST_TEST(session.query(bytes).at(0).integer("n") == 7);
  auto loose = database.connect();
  loose.execute("SET sql_mode = 'ALLOW_INVALID_DATES'");
  loose.execute("UPDATE notificaciones_pendientes SET no_antes_de = '2030-02-31', aplazada_hasta = NULL");
  const auto again = transaction(session, [&] { return lock_pending(session, ids); });
  BOOST_REQUIRE_EQUAL(again.size(), 1U);
  BOOST_TEST(again.front().later == !session.is_mariadb());
  if (!again.front().later) return;
  transaction(session, [&] {
    return write_fan_out(
        session, {.processed = {}, .unreached = {}, .deferred = ids, .rejected = {}, .deliveries = {}},
        long_lease);
  });
  BOOST_TEST(count(session, "notificaciones_pendientes WHERE aplazada_hasta = '2030-03-03'") == 1);
}

BOOST_AUTO_TEST_CASE(one_that_is_due_and_kept_locked_is_named) {
  const auto ids = defer_some(session, 2);
  session.update(
      "UPDATE notificaciones_pendientes SET aplazada_hasta = UTC_TIMESTAMP(3) - INTERVAL 5 MINUTE WHERE id = "
      "?",
      ids[0]);
  BOOST_TEST(queue_status(session).oldest_notification_s >= 300);
  BOOST_TEST(!find_locked_notifications(session).has_value());
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT id FROM notificaciones_pendientes WHERE id IN (?, ?) FOR UPDATE", ids[0], ids[1]);
  const auto locked = find_locked_notifications(session);
  BOOST_REQUIRE(locked.has_value());
  BOOST_TEST((locked->first.id == ids[0]));
  other.execute("ROLLBACK");
}

// It would seem hours old, or shifted by hours.
BOOST_AUTO_TEST_CASE(its_age_counts_from_its_time) {
  defer_some(session, 1);
  session.execute("UPDATE notificaciones_pendientes SET ocurrida_en = '2026-01-01'");
  hasten(session);
  release_all(session);
  BOOST_TEST(queue_status(session).oldest_notification_s < 60);
}

BOOST_AUTO_TEST_SUITE_END()
