// What the queue scanner finds while others add to the queue.
#include "dispatcher/scan/queue_scanner.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(queue_scanner, DeliveryFixture)

namespace {

using dispatcher::QueueScanner;
using dispatcher::ReadySet;

constexpr int others = 80'000;

/// Inserts `count` notifications, each for a different entity. The entities' ids are from 1000 to 80999.
void notify_others(Session& session, int count) {
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)"
      " SELECT 1000 + (seq + (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes AS n)) % " +
      std::to_string(others) + ", 'evaluacion.cerrada', '{}' FROM " + numbers(count));
}

void finish(Session& session, ReadySet& ready, std::size_t count) {
  const auto done = ready.entities.line(count);
  std::string ids = "0";
  for (const auto& notification : done) {
    ids += "," + to_string(notification.id);
    ready.entities.advance(notification.entity, notification.id);
  }
  session.execute("DELETE FROM notificaciones_pendientes WHERE id IN (" + ids + ")");
}

}  // namespace

// The test inserts as many notifications as it finishes, so that the ready set stays full.
BOOST_AUTO_TEST_CASE(a_notification_committed_late_is_found_among_many_new_ones) {
  ReadySet ready{0};
  QueueScanner scanner({}, ready);
  const auto look = [&] {
    scanner.look(session, std::max(scanner.next_look(), platform::monotonic_now()), false);
  };
  const auto first = [&] {
    const auto line = ready.entities.line(1);
    return line.empty() ? 0 : line[0].id;
  };
  session.execute("INSERT INTO entidades (id, nombre) SELECT 999 + seq, 'e' FROM " + numbers(others));
  session.execute("INSERT INTO entidades (id, nombre) VALUES (7, 'e')");
  const auto deadline = platform::monotonic_now() + std::chrono::seconds(30);
  const auto in_time = [&] { return platform::monotonic_now() < deadline; };

  look();  // after this look the scanner reads new notifications in the order of their ids
  Session other = database.connect();
  other.execute("START TRANSACTION");
  const auto late = insert_notification(other, 7);
  notify_others(session, 40'000);  // more than the ready set takes
  while (ready.entities.has_room() && in_time()) look();
  BOOST_REQUIRE_GT(first(), late);
  other.execute("COMMIT");
  while (first() != late && in_time()) {
    finish(session, ready, 500);
    notify_others(session, 500);
    do look();
    while (ready.entities.has_room() && in_time());
  }
  BOOST_TEST(first() == late);
}

BOOST_AUTO_TEST_SUITE_END()
