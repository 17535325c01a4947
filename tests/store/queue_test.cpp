// What the depth of the queue counts, and how many rows are read for it.
#include <boost/test/unit_test.hpp>

#include "lib/store/backlog/pauses.hpp"
#include "lib/store/session/error_stats.hpp"
#include "lib/webhook/target_url.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

BOOST_FIXTURE_TEST_SUITE(queue, MaintenanceFixture)

BOOST_AUTO_TEST_CASE(what_is_in_each_state) {
  add_webhook(session, 1);
  for (int i = 0; i < 5; ++i) insert_notification(session, 1);
  fan_out(session);
  insert_notification(session, 1);
  session.execute("UPDATE entregas SET estado = 'retenida' ORDER BY id LIMIT 2");
  for (const auto& status : {queue_status(session), queue_status(session, 100)}) {
    BOOST_TEST(status.pending_notifications == 1);
    BOOST_TEST(status.pending_deliveries == 3);
    BOOST_TEST(status.held == 2);
    BOOST_TEST(!status.paused);
  }
  BOOST_TEST(queue_status(session, 2).pending_deliveries == 2);
}

BOOST_AUTO_TEST_CASE(the_age_of_the_oldest_of_each_kind) {
  const auto webhook = add_webhook(session, 1);
  BOOST_TEST(queue_status(session).oldest_s == 0);
  insert_notification(session, 1);
  fan_out(session);
  insert_notification(session, 1);
  session.execute(
      "UPDATE notificaciones_pendientes SET ocurrida_en = UTC_TIMESTAMP(3) - INTERVAL 60 SECOND WHERE estado "
      "= "
      "'pendiente'");
  session.execute("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 600 SECOND");
  auto status = queue_status(session);
  BOOST_TEST((status.oldest_notification_s >= 60 && status.oldest_notification_s < 90));
  BOOST_TEST((status.oldest_delivery_s >= 600 && status.oldest_delivery_s < 630));
  BOOST_TEST(status.oldest_s == status.oldest_delivery_s);
  // The age counts neither deliveries of a resting webhook nor those that wait for their retry.
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 "
      "HOUR)",
      webhook.id);
  BOOST_TEST(queue_status(session).oldest_delivery_s == 0);
  session.execute("UPDATE webhook_ejecuciones SET descansa_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_TEST(queue_status(session).oldest_delivery_s >= 600);
  session.execute("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 600 SECOND");
  BOOST_TEST(queue_status(session).oldest_delivery_s == 0);
}

BOOST_AUTO_TEST_CASE(the_age_leaves_out_what_is_paused_on_its_own) {
  const auto paused = add_webhook(session, 1);
  add_webhook(session, 2);
  insert_notification(session, 1);
  insert_notification(session, 2);
  fan_out(session);
  session.update(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) - INTERVAL IF(webhook_id = ?, 600, 300) SECOND",
      paused.id);
  BOOST_TEST(queue_status(session).oldest_delivery_s >= 600);
  const std::string host = webhook::comparable_host(find_webhook(session, paused.id)->url);
  session.update("UPDATE webhooks SET url = 'https://other.example.com/' WHERE id <> ?", paused.id);
  for (const auto& [what, object] : std::map<Paused, std::string>{
           {Paused::entity, "1"}, {Paused::webhook, to_string(paused.id)}, {Paused::host, host}}) {
    pause_part(session, what, object, {}, "");
    for (const auto& status : {queue_status(session), queue_status(session, 100)}) {
      BOOST_TEST_CONTEXT(name(what)) {
        BOOST_TEST((status.oldest_delivery_s >= 300 && status.oldest_delivery_s < 600));
        BOOST_TEST(status.oldest_s == status.oldest_delivery_s);
        BOOST_TEST(status.paused_parts == 1);
      }
    }
    resume_part(session, what, object);
  }
  pause_part(session, Paused::entity, "1", {}, "");
  pause_part(session, Paused::entity, "2", {}, "");
  BOOST_TEST(queue_status(session).oldest_delivery_s == 0);
  BOOST_TEST(queue_status(session).paused_parts == 2);
}

BOOST_AUTO_TEST_CASE(a_limited_look_reads_no_more_of_a_deep_queue) {
  add_webhook(session, 1);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1, 'evaluacion.cerrada', "
      "'{}' FROM " +
      numbers(20000));
  queue_status(session, 50);  // prepares the statements
  session.execute("FLUSH STATUS");
  BOOST_TEST(queue_status(session, 50).pending_notifications == 50);
  const auto read = session.query("SHOW SESSION STATUS LIKE 'Handler_read_next'").at(0).integer("Value");
  BOOST_TEST(read < 200);
}

BOOST_AUTO_TEST_CASE(errors_are_noted_by_kind) {
  const platform::Log log(platform::LogLevel::error);
  std::map<ErrorKind, int> counts;
  ErrorStats notes([&](ErrorKind kind) { ++counts[kind]; });
  Session observed(server(database.name), notes.observed({"root", 30}, log));
  BOOST_CHECK_THROW(observed.query("SELECT 1 FROM ninguna"), DatabaseError);
  BOOST_TEST(counts[ErrorKind::refused] == 1);
  BOOST_TEST(notes.last().find("1146") != std::string::npos);
  observed.execute("INSERT INTO entidades (id, nombre) VALUES (1, 'e')");
  BOOST_CHECK_THROW(observed.execute("INSERT INTO entidades (id, nombre) VALUES (1, 'e')"), DuplicateKey);
  BOOST_TEST(counts[ErrorKind::refused] == 1);  // a duplicate key is expected, and not counted
  const auto id = observed.query("SELECT CONNECTION_ID() AS id").at(0).integer("id");
  session.execute("KILL " + std::to_string(id));
  BOOST_CHECK_THROW(observed.query("SELECT 1"), Unavailable);
  BOOST_TEST(counts[ErrorKind::unavailable] == 1);
  BOOST_TEST(counts[ErrorKind::conflict] == 0);
  auto nowhere = server(database.name);
  nowhere.hosts.clear();
  nowhere.socket = "/nonexistent/db.sock";
  Session lost(nowhere, notes.observed({"root", 30}, log));
  BOOST_CHECK_THROW(lost.connect(), Unavailable);
  BOOST_TEST(counts[ErrorKind::unavailable] == 2);
}

BOOST_AUTO_TEST_SUITE_END()
