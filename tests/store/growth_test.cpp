// The cost of the dispatcher's statements does not grow with the rows that wait or are finished.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

constexpr Lease lease{101, Milliseconds(60000)};

struct Fixture {
  Database database;
  Session& session = database.session;
  Webhook busy = add_webhook(session, 1);   // its entity has a backlog
  Webhook other = add_webhook(session, 2);  // its entity has one notification at most

  /// Adds `rows` notifications of entity 1, half of them pending and half processed, and deliveries of the
  /// processed ones to the busy webhook.
  void grow(int rows) {
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en)"
        " SELECT 1, 'evaluacion.cerrada', '{\"evaluacionId\": 1, \"titulo\": \"t\"}',"
        " IF(seq % 2, 'pendiente', 'procesada'), IF(seq % 2, NULL, UTC_TIMESTAMP(3)) FROM " +
        numbers(rows));
    session.update(
        "INSERT IGNORE INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, "
        "terminada_en)"
        " SELECT id, ?, IF(id % 4, 'pendiente', 'entregada'), UTC_TIMESTAMP(3), UTC_TIMESTAMP(3),"
        " IF(id % 4, NULL, UTC_TIMESTAMP(3)) FROM notificaciones_pendientes WHERE estado = 'procesada'",
        busy.id);
    session.query("ANALYZE TABLE entregas, notificaciones_pendientes, webhooks");
  }

  /// Returns how many rows `work` reads.
  std::int64_t rows_read_by(const std::function<void()>& work) {
    const auto before = rows_read(session);
    work();
    return rows_read(session) - before;
  }
  /// The same for work that changes rows: rolls the changes back.
  std::int64_t cost(const std::function<void()>& work) {
    session.execute("START TRANSACTION");
    const auto rows = rows_read_by(work);
    session.execute("ROLLBACK");
    return rows;
  }

  void check_same(const std::function<std::int64_t()>& rows) {
    const auto small = rows();
    grow(4000);
    const auto large = rows();
    BOOST_TEST(large <= small + 20,
               large << " rows read with a larger backlog, " << small << " with a smaller one");
  }
  void check_same_cost(const std::function<void()>& work) {
    check_same([&] { return cost(work); });
  }
  void check_same_reading(const std::function<void()>& work) {
    check_same([&] { return rows_read_by(work); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(growth, Fixture)

BOOST_AUTO_TEST_CASE(a_peek) {
  grow(50);
  check_same_reading([&] { peek_queue(session); });
}

BOOST_AUTO_TEST_CASE(the_figures_of_the_queue_up_to_a_limit) {
  const auto count = [&] { BOOST_TEST(queue_status(session, 10).pending_deliveries == 10); };
  grow(50);
  const auto small = cost(count);
  grow(4000);
  const auto large = cost(count);
  BOOST_TEST(large <= small + 50,
             large << " rows read with a large backlog, " << small << " with a small one");
}

BOOST_AUTO_TEST_CASE(finding_waiting_entities_and_webhooks) {
  insert_notification(session, 2);
  grow(4000);
  const auto rows = rows_read_by([&] { BOOST_TEST(waiting_entities(session).size() == 2U); });
  BOOST_TEST(rows <= static_cast<std::int64_t>(6 * rows_per_range), rows << " rows read with a backlog");
  check_same_reading([&] {
    BOOST_TEST(find_waiting_webhooks(session, {{busy.id.number(), busy.id.number()},
                                               {busy.id.next().number(), other.id.number()}})
                   .size() == 1U);
  });
}

BOOST_AUTO_TEST_CASE(taking_notifications) {
  grow(50);
  insert_notification(session, 2);
  const auto take = [&] {
    std::vector<NotificationId> ids;
    for (const auto& notification : find_oldest_pending(session, {{1, 0, 10}, {2, 0, 10}}))
      ids.push_back(notification.id);
    return transaction(session, [&] { return lock_pending(session, ids).size(); });
  };
  check_same_reading([&] { BOOST_TEST(take() == 11U); });
}

BOOST_AUTO_TEST_CASE(loading_recipients_with_retries_for_tomorrow) {
  const auto load = [&] { BOOST_TEST(!load_recipients(session, {1}).at(1).webhooks.at(0).backlog); };
  const auto small = cost(load);
  grow(4000);
  session.update(
      "UPDATE entregas SET proximo_intento = proximo_intento + INTERVAL 1 DAY WHERE estado = 'pendiente'");
  const auto large = cost(load);
  BOOST_TEST(large <= small + 20, large << " rows read with a backlog, " << small << " without");
}

BOOST_AUTO_TEST_CASE(loading_recipients) {
  grow(50);
  check_same_cost([&] { BOOST_TEST(load_recipients(session, {1, 2}).size() == 2U); });
}

BOOST_AUTO_TEST_CASE(finding_what_is_due) {
  grow(50);
  // Like the first query of claim(). The whole claim() would commit the transaction that cost() rolls back.
  const auto candidates = [&] {
    BOOST_TEST(
        session
            .query("SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente'"
                   " AND webhook_id = ? AND proximo_intento BETWEEN ? AND UTC_TIMESTAMP(3)"
                   " ORDER BY proximo_intento, id LIMIT 10",
                   busy.id, UtcTime{})
            .size() == 10U);
  };
  check_same_cost(candidates);
}

// write_fan_out() inserts deliveries, and then reads the leased ones among them, from the first inserted id
// on. So it reads none of the deliveries that were in flight before them.
BOOST_AUTO_TEST_CASE(reading_what_was_created_leased) {
  const auto fan_out_some = [&](std::size_t count) {
    FanOutRows fan_out;
    while (fan_out.processed.size() < count) {
      const auto id = insert_notification(session, 2);
      fan_out.processed.push_back(id);
      fan_out.deliveries.push_back({id, other.id, webhook::Event::evaluacion_abierta, DeliveryState::leased});
    }
    BOOST_TEST(write_fan_out(session, fan_out, lease).size() == count);
  };
  const auto grow_in_flight = [&](int rows) {
    grow(rows);
    session.update(
        "UPDATE entregas SET estado = 'en_curso', arriendo = 5, arriendo_hasta = UTC_TIMESTAMP(3)"
        " WHERE estado = 'pendiente'");
  };
  // One delivery takes one INSERT, 130 take two: the reading then begins at the first id of the first one.
  for (const std::size_t count : {1U, 130U}) {
    const auto fan_out = [&] { fan_out_some(count); };
    grow_in_flight(100);
    const auto small = cost(fan_out);
    grow_in_flight(4000);
    const auto large = cost(fan_out);
    BOOST_TEST(large <= small + 20, large << " rows read with many in flight, " << small << " with few");
  }
}

BOOST_AUTO_TEST_CASE(a_claim_and_the_recording_of_its_results) {
  const auto round = [&] {
    const auto before = rows_read(session);
    std::vector<DeliveryResult> delivery_results;
    for (const auto& leased : claim(session, {{busy.id, 5}}, lease).leased.deliveries)
      delivery_results.push_back(delivered(leased));
    BOOST_TEST(delivery_results.size() == 5U);
    BOOST_TEST(record_results(session, delivery_results, {Milliseconds(0)}).stale.empty());
    return rows_read(session) - before;
  };
  grow(100);
  const auto small = round();
  grow(4000);
  const auto large = round();
  BOOST_TEST(large <= small + 50,
             large << " rows read with a large backlog, " << small << " with a small one");
}

BOOST_AUTO_TEST_CASE(the_plans_use_the_indexes_made_for_them) {
  grow(4000);
  const auto check = [&](const std::string& sql, const std::string& key) {
    const auto plan = explain(session, sql);
    BOOST_TEST_REQUIRE(plan.size() == 1U);
    BOOST_TEST(plan.at(0).key == key);
    BOOST_TEST(plan.at(0).extra.find("filesort") == std::string::npos);
  };
  check(
      "SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente' AND webhook_id "
      "= 1"
      " AND proximo_intento BETWEEN '2026-01-01' AND UTC_TIMESTAMP(3) ORDER BY proximo_intento, id LIMIT 10",
      "entregas_por_reclamar");
  check(
      "SELECT id FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)"
      " WHERE estado = 'pendiente' AND aplazada_hasta IS NULL AND entidad_id = 1 AND id > 7 ORDER BY id "
      "LIMIT 10"
      " FOR UPDATE SKIP LOCKED",
      "notificaciones_por_expandir");
}

BOOST_AUTO_TEST_SUITE_END()
