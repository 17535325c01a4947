// Which notifications wait for fan-out, and to which webhooks they go.
#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

BOOST_FIXTURE_TEST_SUITE(fan_out_of_notifications, DeliveryFixture)

namespace {

using Ids = std::vector<NotificationId>;

template <class Notifications>
Ids ids_of(const Notifications& notifications) {
  Ids ids;
  for (const auto& notification : notifications) ids.push_back(notification.id);
  return ids;
}

/// Drops the CHECK that limits the size of data, and inserts a notification with data of `bytes` bytes.
NotificationId insert_data(Session& session, std::size_t bytes) {
  session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT datos_de_mas_de_64_KiB");
  return insert_notification(session, 3, "evaluacion.cerrada",
                             R"({"n": ")" + std::string(bytes - 9, 'x') + R"("})");
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_entity_that_waits_is_found_and_what_others_hold_is_not_locked) {
  Ids ids;
  for (const EntityId entity : {3, 5, 9}) ids.push_back(insert_notification(session, entity));
  BOOST_CHECK((waiting_entities(session) == std::vector<EntityId>{3, 5, 9}));
  Session other = database.connect();
  other.execute("START TRANSACTION");
  BOOST_CHECK(ids_of(lock_pending(other, {ids[0]})) == Ids{ids[0]});
  session.execute("START TRANSACTION");
  BOOST_CHECK(ids_of(lock_pending(session, ids)) == (Ids{ids[1], ids[2]}));
  BOOST_CHECK(find_pending(session, ids) == std::set(ids.begin(), ids.end()));
  session.execute("ROLLBACK");
  other.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(new_notifications_are_found_by_their_ids) {
  const auto before = insert_notification(session, 3);
  BOOST_CHECK_EQUAL(peek_queue(session).newest, before);
  const auto first = insert_notification(session, 5);
  insert_notification(session, 5);
  const auto last = insert_notification(session, 4);
  const auto found = find_new_notifications(session, before, last, 10);
  BOOST_REQUIRE_EQUAL(found.pending.size(), 3U);
  BOOST_CHECK(found.pending[0].id == first && found.pending[0].entity == 5);
  BOOST_CHECK(found.pending[2].id == last && found.pending[2].entity == 4);
  BOOST_CHECK(found.last == last && !found.full);
  const auto some = find_new_notifications(session, before, last, 2);
  BOOST_CHECK(some.full && some.last == first.next());
  BOOST_CHECK(find_new_notifications(session, last, last, 2).pending.empty());
}

// One search finds many entities, each with its oldest pending notifications. It is given ranges of entity
// ids, reads at most rows_per_range notifications of each range, and returns the ranges of ids that it has
// not searched.
BOOST_AUTO_TEST_CASE(a_search_finds_many_entities_at_once_with_their_oldest) {
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)"
      " SELECT IF(seq > 10, 11, seq), 'evaluacion.cerrada', '{}' FROM " +
      numbers(60));
  const auto one = find_waiting_entities(session, {IdRange{}});
  BOOST_REQUIRE_EQUAL(one.found.size(), 11U);
  BOOST_CHECK(one.found[0].oldest.size() == 1U && !one.found[0].more);
  BOOST_CHECK(one.found[10].oldest.size() == rows_per_range - 10 && one.found[10].more);
  BOOST_REQUIRE_EQUAL(one.rest.size(), 1U);
  BOOST_CHECK_EQUAL(one.rest[0].first, 12);
  BOOST_CHECK(find_waiting_entities(session, one.rest).found.empty());
  const auto two = find_waiting_entities(session, {{1, 5}, {6, 11}});
  BOOST_CHECK_EQUAL(two.found.size(), 11U);
  BOOST_CHECK(two.rest.empty());
}

BOOST_AUTO_TEST_CASE(the_oldest_of_an_entity_and_what_is_still_pending_of_some) {
  Ids ids;
  for (int i = 0; i < 4; ++i) ids.push_back(insert_notification(session, 3));
  BOOST_CHECK(ids_of(find_oldest_pending(session, {{3, ids[0], 2}})) == (Ids{ids[1], ids[2]}));
  session.update(
      "UPDATE notificaciones_pendientes SET estado = 'procesada', terminada_en = UTC_TIMESTAMP(3)"
      " WHERE id = ?",
      ids[2]);
  BOOST_CHECK(find_pending(session, {ids[3], ids[2], ids[0]}) == (std::set{ids[0], ids[3]}));
  for (const auto by : {LockedBy::row, LockedBy::row_and_entry}) {
    session.execute("START TRANSACTION");
    BOOST_CHECK(ids_of(lock_pending(session, {ids[3], ids[2], ids[0]}, by)) == (Ids{ids[3], ids[0]}));
    session.execute("ROLLBACK");
  }
}

/// Fan-out writes `terminada_en` (7 bytes) and clears the filler, `relleno` (7 bytes), so that the row does
/// not grow. InnoDB would move a grown row, and might write the whole page anew (migration 0028).
BOOST_AUTO_TEST_CASE(the_time_of_the_end_takes_the_place_of_the_filler) {
  insert_notification(session, 1);
  const auto bytes = [&] {
    return session
        .query(
            "SELECT COALESCE(LENGTH(relleno), 0) + 7 * (terminada_en IS NOT NULL) AS n FROM"
            " notificaciones_pendientes")
        .at(0)
        .integer("n");
  };
  BOOST_TEST(bytes() == 7);
  BOOST_TEST(fan_out(session).size() == 0U);
  BOOST_TEST(list_notifications(session, {}).at(0).state == "procesada");
  BOOST_TEST(bytes() == 7);
}

BOOST_AUTO_TEST_CASE(small_data_come_with_the_row_and_larger_ones_on_demand) {
  insert_notification(session, 3, "evaluacion.cerrada", "{}");
  insert_data(session, 65536);
  auto pending = oldest_pending(session, {{3, 0, 10}});
  BOOST_REQUIRE_EQUAL(pending.size(), 2U);
  BOOST_CHECK_EQUAL(pending[0].data.value(), "{}");
  BOOST_CHECK(!pending[1].data && pending[1].bytes == 65536);
  read_data(session, pending);
  BOOST_CHECK_EQUAL(pending[1].data.value().size(), 65536U);
}

BOOST_AUTO_TEST_CASE(data_that_are_too_long_are_never_fetched) {
  const auto id = insert_data(session, 65537);
  auto pending = transaction(session, [&] { return lock_pending(session, {id}); });
  read_data(session, pending);
  BOOST_CHECK(!pending.at(0).data && pending.at(0).bytes == 65537);
}

BOOST_AUTO_TEST_CASE(recipients_of_unknown_and_disabled_entities) {
  add_entity(session, 2, "sin webhooks");
  set_entity_active(session, 2, false);
  const auto recipients = load_recipients(session, {1, 2, 3});
  BOOST_CHECK_EQUAL(recipients.at(1).webhooks.size(), 1U);
  BOOST_CHECK(!recipients.at(2).active && recipients.at(2).webhooks.empty());
  BOOST_CHECK(!recipients.contains(3));
}

BOOST_AUTO_TEST_CASE(an_entity_without_webhooks_is_read_past_a_lock) {
  add_entity(session, 2, "sin webhooks");
  Session other = database.connect();
  other.execute("START TRANSACTION");
  set_entity_active(other, 2, false);
  const auto recipients = load_recipients(session, {1, 2});
  BOOST_CHECK(recipients.at(2).active && !recipients.at(2).locked);
  other.execute("COMMIT");
  BOOST_CHECK(!load_recipients(session, {2}).at(2).active);
}

// The first statement reads, without a lock, which webhooks there are. The second one locks them.
BOOST_AUTO_TEST_CASE(a_change_before_the_lock_is_seen) {
  Session other = database.connect();
  const auto load_after = [&](const std::string& change) {
    load_recipients(session, {1});  // prepares the statements
    int statement = 0;
    session.before_statements([&] {
      if (++statement == 2) BOOST_TEST(other.update(change) == 1U);
    });
    auto recipient = load_recipients(session, {1}).at(1);
    session.before_statements([] {});
    BOOST_TEST(statement >= 2);
    return recipient;
  };
  BOOST_CHECK_EQUAL(
      load_after("UPDATE webhooks SET url = 'https://otro.example.org/'").webhooks.at(0).target.url,
      "https://otro.example.org/");
  BOOST_CHECK(!load_after("UPDATE webhooks SET activo = FALSE, motivo = 'operador'").webhooks.at(0).active);
  BOOST_CHECK_EQUAL(
      load_after("UPDATE webhooks SET eventos = 'evaluacion.abierta'").webhooks.at(0).events.joined(),
      "evaluacion.abierta");
  BOOST_CHECK(!load_after("UPDATE entidades SET activa = FALSE").active);
  const auto deleted = load_after(
      "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3), secreto_sellado = NULL,"
      " secreto_clave = NULL");
  BOOST_CHECK(deleted.locked && deleted.webhooks.empty());  // to be read again
  BOOST_CHECK(load_recipients(session, {1}).at(1).webhooks.empty());
}

BOOST_AUTO_TEST_CASE(no_change_is_made_after_the_lock) {
  Session other(server(database.name), {.program_user = "root", .lock_wait_s = 1});
  for (const auto* change :
       {"UPDATE webhooks SET url = 'https://otro.example.org/'", "UPDATE entidades SET activa = FALSE"}) {
    session.execute("START TRANSACTION");
    load_recipients(session, {1});
    BOOST_CHECK_THROW(other.update(change), LockTimeout);
    session.execute("COMMIT");
    BOOST_TEST(other.update(change) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_locked_entity_is_not_taken_for_unknown) {
  Session other = database.connect();
  other.execute("START TRANSACTION");
  set_entity_active(other, 1, false);
  const auto recipients = load_recipients(session, {1, 3});
  BOOST_CHECK(recipients.at(1).locked);
  BOOST_CHECK(!recipients.contains(3));
  other.execute("ROLLBACK");
  BOOST_CHECK(!load_recipients(session, {1}).at(1).locked);
}

BOOST_AUTO_TEST_CASE(deliveries_created_leased_are_returned_and_not_claimed) {
  insert_notification(session, 1);
  insert_notification(session, 1);
  BOOST_CHECK_EQUAL(fan_out(session, DeliveryState::leased).size(), 2U);
  BOOST_CHECK(claim_some(10).empty());
  BOOST_CHECK_EQUAL(queue_status(session).in_flight, 2);
}

BOOST_AUTO_TEST_CASE(a_date_that_is_none_is_refused_or_comes_without_a_time) {
  // Some SQL modes of the writer's session allow a month or a day of 0.
  session.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES'");
  BOOST_CHECK_THROW(
      session.execute("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
                      " VALUES (1, 'evaluacion.cerrada', '{}', '2026-00-15')"),
      DatabaseError);
  session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT ocurrida_en_no_es_fecha");
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
      " VALUES (1, 'evaluacion.cerrada', '{}', '2026-00-15')");
  BOOST_CHECK(!oldest_pending(session, {{1, 0, 10}}).at(0).occurred.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
