// Rows that another session has written and not committed delay no look at the queue.
#include <boost/test/unit_test.hpp>

#include "dispatcher/scan/queue_scanner.hpp"
#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(uncommitted, DeliveryFixture)

namespace {

constexpr int many = 6000;  // more than find_new_notifications() reads at once

/// Begins a transaction that writes `count` notifications of the entity.
Session write_many(const Database& database, EntityId entity, int count = many) {
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.execute("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT " +
                to_string(entity) + ", 'evaluacion.cerrada', '{}' FROM " + numbers(count));
  return other;
}

/// Pages of tables that the server has looked at so far. An invisible row costs several.
std::int64_t pages_read(Session& session) {
  return session.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'").at(0).integer("Value");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_look_does_not_visit_each_uncommitted_row) {
  auto other = write_many(database, 1);
  insert_notification(session, 2);
  const auto before = pages_read(session);
  BOOST_CHECK(peek_queue(session).pending_notifications);
  const auto found = find_waiting_entities(session, {
                                                        IdRange{},
                                                    });
  find_oldest_pending(session, {{1, 0, 50}});
  BOOST_CHECK_LT(pages_read(session) - before, many);
  BOOST_TEST(found.found.empty());
  const auto rest = find_waiting_entities(session, found.rest);
  BOOST_REQUIRE_EQUAL(rest.found.size(), 1U);
  BOOST_CHECK_EQUAL(rest.found[0].id, 2);
}

BOOST_AUTO_TEST_CASE(new_notifications_are_found_beyond_many_uncommitted_ones) {
  const auto before = insert_notification(session, 2);
  auto other = write_many(database, 1);
  const auto last = insert_notification(session, 2);
  auto found = find_new_notifications(session, before, last, 1000);
  BOOST_CHECK(found.passed_over && found.pending.empty());
  while (found.passed_over) found = find_new_notifications(session, found.last, last, 1000);
  BOOST_REQUIRE_EQUAL(found.pending.size(), 1U);
  BOOST_CHECK(found.pending[0].id == last);
  // Few uncommitted ones are not passed over: they are found once they are committed.
  auto third = database.connect();
  third.execute("START TRANSACTION");
  const auto late = insert_notification(third, 3);
  BOOST_CHECK(find_new_notifications(session, last, late, 1000).last == last);
  third.execute("COMMIT");
  BOOST_CHECK(find_new_notifications(session, last, late, 1000).last == late);
}

BOOST_AUTO_TEST_CASE(a_scanner_finds_what_is_committed_beside_many_uncommitted_rows) {
  dispatcher::ReadySet ready{0};
  dispatcher::QueueScanner scanner({}, ready);
  auto now = platform::monotonic_now();
  const auto look = [&] {
    now = std::max(scanner.next_look(), platform::monotonic_now());
    scanner.look(session, now, true);
  };
  const auto line = [&] { return ready.entities.line(10); };
  const auto look_while = [&](auto&& condition) {
    const auto until =
        platform::monotonic_now() + std::chrono::seconds(30);  // the search has paces of its own
    while (condition() && platform::monotonic_now() < until) look();
  };
  session.execute("INSERT INTO entidades (id, nombre) VALUES (2, 'e'), (9, 'e')");
  insert_notification(session, 9);
  look_while([&] { return line().empty(); });
  auto other = write_many(database, 1);
  const auto id = insert_notification(session, 2);
  look_while([&] { return line().size() < 2; });
  BOOST_REQUIRE_EQUAL(line().size(), 2U);
  BOOST_CHECK(line()[1].id == id && line()[1].entity == 2);
  BOOST_CHECK_EQUAL(ready.entities.known(), 2U);  // the entity of the uncommitted rows has no turns
  other.execute("COMMIT");
  look_while([&] { return ready.entities.known() < 3; });
  BOOST_CHECK_EQUAL(ready.entities.known(), 3U);
}

BOOST_AUTO_TEST_CASE(a_scanner_does_not_rest_before_it_has_passed_over_uncommitted_rows) {
  dispatcher::ReadySet ready{0};
  dispatcher::QueueScanner scanner({}, ready);
  session.execute("INSERT INTO entidades (id, nombre) VALUES (2, 'e')");
  scanner.look(session, platform::monotonic_now(), true);  // nothing waits
  auto other = write_many(database, 1, 20 * many);
  const auto id = insert_notification(session, 2);
  scanner.look(session, scanner.next_look(), true);
  BOOST_CHECK(scanner.next_look() <= platform::monotonic_now());
  while (scanner.next_look() <= platform::monotonic_now())
    scanner.look(session, platform::monotonic_now(), true);
  BOOST_REQUIRE_EQUAL(ready.entities.line(10).size(), 1U);
  BOOST_CHECK(ready.entities.line(10)[0].id == id);
}

BOOST_AUTO_TEST_SUITE_END()
