// A failure of one row, webhook or entity is returned as a value, and delays no other row, webhook or entity.
// A statement with a row that the database refuses for its content throws Refused.
#include <boost/test/unit_test.hpp>

#include "lib/store/schema/version.hpp"
#include "tests/store/database.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

constexpr Lease lease{101, Milliseconds(60000)};

struct Fixture {
  Database database;
  Session& session = database.session;
  Session other = database.connect();
  Webhook first = add_webhook(session, 1);
  Webhook second = add_webhook(session, 2);

  void queue_for_both() {
    insert_notification(session, 1);
    insert_notification(session, 2);
  }
  /// Locks rows like an operator who leaves a transaction open.
  void hold(const std::string& row) {
    other.execute("START TRANSACTION");
    other.query("SELECT 1 FROM " + row + " FOR UPDATE");
  }
  std::int64_t pending_in(const std::string& table) {
    return session.query("SELECT COUNT(*) AS n FROM " + table + " WHERE estado = 'pendiente'")
        .at(0)
        .integer("n");
  }
  /// Changes the schema like a migration of a newer release.
  void add_event() {
    session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT evento_no_es_uno_de_los_11");
    std::string names = "'evento.nuevo'";
    for (const auto event : webhook::all_events())
      names.append(", '").append(webhook::name(event)).append("'");
    session.execute("ALTER TABLE webhooks MODIFY eventos SET(" + names + ") NOT NULL");
    session.update("INSERT INTO migraciones (numero, nombre, huella) VALUES (9999, 'nueva', '')");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(failures_as_values, Fixture)

BOOST_AUTO_TEST_CASE(a_locked_webhook_is_told_and_the_others_are_claimed_without_waiting) {
  queue_for_both();
  fan_out(session);
  hold("webhooks WHERE id = " + to_string(first.id));
  const auto result = claim(session, {{first.id, 5}, {second.id, 5}}, lease);
  BOOST_REQUIRE_EQUAL(result.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(result.leased.deliveries[0].webhook, second.id);
  BOOST_CHECK(result.reached[0].skipped && !result.reached[1].skipped);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(claim(session, {{first.id, 5}}, lease).leased.deliveries.size(), 1U);
}

BOOST_AUTO_TEST_CASE(a_notification_that_is_being_cancelled_is_left_to_it_without_waiting) {
  queue_for_both();
  fan_out(session);
  other.execute("START TRANSACTION");
  other.update(
      "UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3) WHERE webhook_id = ?",
      first.id);
  const auto result = claim(session, {{first.id, 5}, {second.id, 5}}, lease);
  BOOST_REQUIRE_EQUAL(result.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(result.leased.deliveries[0].webhook, second.id);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(claim(session, {{first.id, 5}}, lease).leased.deliveries.size(), 1U);
}

BOOST_AUTO_TEST_CASE(locked_notifications_keep_no_delivery_waiting) {
  queue_for_both();
  fan_out(session);
  hold("notificaciones_pendientes");
  BOOST_CHECK_EQUAL(claim(session, {{first.id, 5}, {second.id, 5}}, lease).leased.deliveries.size(), 2U);
}

BOOST_AUTO_TEST_CASE(a_delivery_released_during_its_cancellation_is_cancelled_too) {
  const auto id = insert_notification(session, 1);
  fan_out(session);
  BOOST_REQUIRE_EQUAL(claim(session, {{first.id, 5}}, lease).leased.deliveries.size(), 1U);
  // The trigger stands for a result that is recorded after the cancellation has read the deliveries and
  // before it commits.
  session.execute(
      "CREATE TRIGGER prueba AFTER UPDATE ON notificaciones_pendientes FOR EACH ROW UPDATE entregas"
      " SET estado = 'pendiente', arriendo = NULL, arriendo_hasta = NULL WHERE estado = 'en_curso'");
  const auto result = cancel_notification(session, id);
  BOOST_CHECK_EQUAL(result.cancelled_deliveries, 1U);
  BOOST_CHECK_EQUAL(result.in_flight, 0U);
  BOOST_CHECK_EQUAL(claim(session, {{first.id, 5}}, lease).leased.deliveries.size(), 0U);
}

BOOST_AUTO_TEST_CASE(an_entity_with_a_locked_webhook_is_told_without_waiting) {
  hold("webhooks WHERE id = " + to_string(first.id));
  const auto recipients = transaction(session, [&] { return load_recipients(session, {1, 2}); });
  BOOST_CHECK(recipients.at(1).locked && !recipients.at(2).locked);
}

BOOST_AUTO_TEST_CASE(a_row_that_is_refused_for_its_content_is_an_error_of_its_own) {
  session.execute(
      "ALTER TABLE control_envio ADD COLUMN prueba TINYINT NOT NULL DEFAULT 0 CHECK (prueba < 5)");
  for (const auto* value : {"5", "NULL", "'texto'", "1000", "(SELECT 1 UNION SELECT 2)"})
    BOOST_CHECK_THROW(session.update(std::string("UPDATE control_envio SET prueba = ") + value), Refused);
  BOOST_CHECK_THROW(session.update("UPDATE webhooks SET entidad_id = 999999"), Refused);  // a foreign key
  try {
    session.update("UPDATE control_envio SET ninguna = 1");
    BOOST_ERROR("an unknown column was accepted");
  } catch (const Refused&) {
    BOOST_ERROR("an unknown column is not the fault of a row");
  } catch (const DatabaseError&) {
  }
}

BOOST_AUTO_TEST_CASE(an_event_of_a_newer_version_is_left_to_it) {
  add_event();
  const auto known = insert_notification(session, 1);
  insert_notification(session, 1, "evento.nuevo");
  const auto last = insert_notification(session, 1, "evento.nuevo");
  auto pending = oldest_pending(session, {{1, 0, 10}});
  const auto left = leave_to_newer(session, pending);
  BOOST_REQUIRE_EQUAL(pending.size(), 1U);
  BOOST_CHECK_EQUAL(pending[0].id, known);
  BOOST_REQUIRE_EQUAL(left.size(), 2U);
  BOOST_CHECK_EQUAL(left[1].id, last);
  BOOST_CHECK_EQUAL(fan_out(session).size(), 0U);
  BOOST_CHECK_EQUAL(pending_in("notificaciones_pendientes"), 2);
}

BOOST_AUTO_TEST_CASE(a_known_schema_leaves_no_event_to_newer_versions) {
  add_event();
  session.update("DELETE FROM migraciones WHERE numero = 9999");
  insert_notification(session, 1, "evento.nuevo");
  auto pending = oldest_pending(session, {{1, 0, 10}});
  BOOST_CHECK(leave_to_newer(session, pending).empty());
  BOOST_REQUIRE_EQUAL(pending.size(), 1U);
  BOOST_CHECK(!pending[0].event);
}

BOOST_AUTO_TEST_CASE(a_schema_that_lacks_a_known_migration_is_refused_and_a_newer_one_is_not) {
  add_event();
  BOOST_CHECK_NO_THROW(require_migrations(session));
  session.update("DELETE FROM migraciones WHERE numero = 28");
  BOOST_CHECK_THROW(require_migrations(session), DatabaseError);
}

BOOST_AUTO_TEST_CASE(a_webhook_with_an_event_of_a_newer_version_receives_the_others) {
  add_event();
  session.update("UPDATE webhooks SET eventos = 'evento.nuevo,evaluacion.cerrada' WHERE id = ?", first.id);
  const auto recipients = transaction(session, [&] { return load_recipients(session, {1}); });
  BOOST_CHECK_EQUAL(recipients.at(1).webhooks.at(0).events.joined(), "evaluacion.cerrada");
  BOOST_CHECK_EQUAL(list_webhooks(session, {}).at(0).events.joined(), "evaluacion.cerrada");
}

BOOST_AUTO_TEST_CASE(a_delivery_of_a_newer_version_s_event_is_passed_over_however_many_there_are) {
  add_event();
  for (int i = 0; i < 5; ++i) insert_notification(session, 1);
  fan_out(session);  // makes five deliveries, due at the same moment
  session.update("UPDATE notificaciones_pendientes SET evento = 'evento.nuevo' ORDER BY id LIMIT 4");
  const auto none = claim(session, {{first.id, 2}}, lease);
  BOOST_CHECK(none.leased.deliveries.empty());
  BOOST_CHECK_EQUAL(none.reached[0].unreadable, 2U);
  const auto more = claim(session, {{first.id, 2, none.reached[0].last}}, lease);
  BOOST_CHECK_EQUAL(more.reached[0].unreadable, 2U);
  const auto last = claim(session, {{first.id, 2, more.reached[0].last}}, lease);
  BOOST_CHECK_EQUAL(last.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(pending_in("entregas"), 4);
}

BOOST_AUTO_TEST_SUITE_END()
