// notificaciones_anuladas: what its writer calls off is not sent. And urgent ones, which go first.
#include <boost/test/unit_test.hpp>

#include "lib/store/backlog/webhook_backlog.hpp"
#include "lib/store/deliveries/deliveries.hpp"
#include "lib/store/deliveries/delivery_log.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/store/maintenance_support.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;
using namespace std::chrono_literals;

namespace {

struct Fixture : DeliveryFixture {
  Fixture() { execute_grants(session, "triggers.sql"); }

  void withdraw(NotificationId id, Session& by) {
    by.update("INSERT INTO notificaciones_anuladas (notificacion_id, motivo) VALUES (?, 'error')", id);
  }
  void withdraw(NotificationId id) { withdraw(id, session); }
  std::string state(NotificationId id) { return find_notification(session, id)->state; }
  NotificationId insert(const std::string& key) {
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES (1, "
        "'evaluacion.cerrada', '{}', ?)",
        key);
    return session.last_insert_id();
  }
  NotificationId queue_urgent() {
    const auto urgent = insert_notification(session, 1);
    write_fan_out(session,
                  {.processed = {urgent},
                   .unreached = {},
                   .deferred = {},
                   .rejected = {},
                   .deliveries = {{urgent, webhook.id, webhook::Event::evaluacion_cerrada,
                                   delivery::DeliveryState::pending, true}}},
                  long_lease);
    return urgent;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(withdrawals, Fixture)

BOOST_AUTO_TEST_CASE(what_has_no_deliveries_yet_gets_none) {
  const auto pending = insert_notification(session, 1);
  const auto later = insert_notification(session, 1);
  session.execute(
      "UPDATE notificaciones_pendientes SET no_antes_de = '2030-01-01', aplazada_hasta = no_antes_de WHERE "
      "id = " +
      to_string(later));
  const auto rejected = insert_notification(session, 1);
  reject_notifications(session, {{rejected, "no"}});
  for (const auto id : {pending, later, rejected}) {
    withdraw(id);
    BOOST_TEST(state(id) == "cancelada");
  }
  BOOST_TEST((retry_notification(session, rejected) == NotificationChange::wrong_state));
  fan_out(session);
  BOOST_TEST(list_deliveries(session, {}).empty());
}

BOOST_AUTO_TEST_CASE(a_claim_ends_what_waits_and_what_was_sent_stays_sent) {
  const auto other = add_webhook(session, 1);
  queue_one();
  const auto id = list_notifications(session, {}).at(0).id;
  const auto sent = claim_one();
  record_results(session, {delivered(sent)}, {Milliseconds(0)});
  withdraw(id);
  withdraw(id);  // again: nothing more
  const auto claimed = claim(session, {{other.id, 10}}, long_lease);
  BOOST_TEST(claimed.leased.deliveries.empty());
  const auto row = session
                       .query(
                           "SELECT estado, webhooks, entregadas, canceladas, ultimo_error,"
                           " anulada_en IS NOT NULL AS anulada FROM notificaciones_resultado")
                       .at(0);
  BOOST_TEST(row.text("estado") == "cancelada");
  BOOST_TEST(row.integer("webhooks") == 2);
  BOOST_TEST(row.integer("entregadas") == 1);
  BOOST_TEST(row.integer("canceladas") == 1);
  BOOST_TEST(row.text("ultimo_error") == "La notificación ha sido anulada");
  BOOST_TEST(row.boolean("anulada"));
}

BOOST_AUTO_TEST_CASE(a_rollback_undoes_it) {
  queue_one();
  const auto id = list_notifications(session, {}).at(0).id;
  auto writer = database.connect();
  writer.execute("START TRANSACTION");
  withdraw(id, writer);
  writer.execute("ROLLBACK");
  BOOST_TEST(state(id) == "procesada");
  BOOST_TEST(claim_some(10).size() == 1U);
}

// A writer that leaves its transaction open holds up this notification alone.
BOOST_AUTO_TEST_CASE(an_open_withdrawal_delays_no_other) {
  const auto id = insert_notification(session, 1);
  insert_notification(session, 1);
  auto writer = database.connect();
  writer.execute("START TRANSACTION");
  withdraw(id, writer);
  BOOST_TEST(transaction(session, [&] { return lock_pending(session, {id}); }).empty());
  fan_out(session);
  BOOST_TEST(claim_some(10).size() == 1U);
  writer.execute("COMMIT");
  BOOST_TEST(state(id) == "cancelada");
}

BOOST_AUTO_TEST_CASE(it_is_named_by_its_key_too_and_a_wrong_name_is_refused) {
  const auto first = insert("a");
  const auto second = insert("b");
  const auto blank = insert("b ");
  session.execute("INSERT INTO notificaciones_anuladas (entidad_id, clave) VALUES (1, 'b')");
  BOOST_TEST(state(second) == "cancelada");
  BOOST_TEST(state(blank) == "pendiente");
  for (const auto* wrong : {"(notificacion_id) VALUES (999999)", "(entidad_id, clave) VALUES (2, 'a')",
                            "(entidad_id, clave) VALUES (1, 'A')", "(clave) VALUES ('a')", "() VALUES ()"})
    BOOST_CHECK_THROW(session.execute(std::string("INSERT INTO notificaciones_anuladas ") + wrong), Refused);
  BOOST_CHECK_THROW(
      session.update(
          "INSERT INTO notificaciones_anuladas (notificacion_id, entidad_id, clave) VALUES (?, 1, 'b')",
          first),
      Refused);
  BOOST_CHECK_THROW(
      session.update("INSERT INTO notificaciones_anuladas (notificacion_id, entidad_id) VALUES (?, 2)",
                     first),
      Refused);
  BOOST_TEST(state(first) == "pendiente");
  session.update("INSERT INTO notificaciones_anuladas (notificacion_id, entidad_id) VALUES (?, 1)", first);
  BOOST_TEST(state(first) == "cancelada");
  session.update("INSERT INTO notificaciones_anuladas (notificacion_id, clave) VALUES (?, 'b ')", blank);
  BOOST_TEST(state(blank) == "cancelada");
}

BOOST_AUTO_TEST_CASE(it_is_purged_with_its_notification) {
  const auto id = insert_notification(session, 1);
  const auto kept = insert_notification(session, 1);
  withdraw(id);
  withdraw(kept);
  session.update("UPDATE notificaciones_pendientes SET terminada_en = '2020-01-01' WHERE id = ?", id);
  sweep(session, retention);
  const auto rows = session.query("SELECT notificacion_id AS id FROM notificaciones_anuladas");
  BOOST_REQUIRE_EQUAL(rows.size(), 1U);
  BOOST_TEST(rows[0].integer("id") == kept.number());
}

// Its trigger reads the notification with a lock, so it waits for the purge, and leaves no withdrawal of
// none.
BOOST_AUTO_TEST_CASE(one_that_meets_the_purge_is_refused) {
  const auto id = insert_notification(session, 1);
  auto writer = database.connect();
  session.execute("START TRANSACTION");
  session.execute("DELETE FROM notificaciones_pendientes");
  ThreadedWork late([&] { BOOST_CHECK_THROW(withdraw(id, writer), Refused); });
  auto watcher = database.connect();
  BOOST_REQUIRE(wait_for_row_lock(watcher, Milliseconds(5000), "%"));
  session.execute("COMMIT");
  late.join();
  BOOST_TEST(session.query("SELECT id FROM notificaciones_anuladas").empty());
}

BOOST_AUTO_TEST_CASE(a_key_is_free_again_if_nothing_was_reached) {
  const auto key_of = [&](NotificationId id) {
    return session
        .query("SELECT clave_unica IS NOT NULL AS usada, error FROM notificaciones_pendientes WHERE id = ?",
               id)
        .at(0);
  };
  const auto unreached = insert("a");
  write_fan_out(session,
                {.processed = {}, .unreached = {unreached}, .deferred = {}, .rejected = {}, .deliveries = {}},
                long_lease);
  BOOST_TEST(!key_of(unreached).boolean("usada"));
  BOOST_TEST(key_of(unreached).text("error") == "La entidad no tenía ningún webhook suscrito");
  BOOST_TEST(state(unreached) == "procesada");
  const auto again = insert("a");
  BOOST_CHECK_THROW(insert("a"), DuplicateKey);
  session.execute("INSERT INTO notificaciones_anuladas (entidad_id, clave) VALUES (1, 'a')");
  BOOST_TEST(state(again) == "cancelada");  // the newest
  BOOST_TEST(state(unreached) == "procesada");
  BOOST_CHECK_THROW(insert("a"), DuplicateKey);  // what is called off keeps its key
  withdraw(unreached);                           // the newer one holds the key
  BOOST_TEST(state(unreached) == "cancelada");
  BOOST_TEST(!key_of(unreached).boolean("usada"));
}

// Else the job that runs again would send it after all.
BOOST_AUTO_TEST_CASE(what_is_called_off_takes_its_free_key_back) {
  const auto rejected = insert("a");
  reject_notifications(session, {{rejected, "no"}});
  session.execute("INSERT INTO notificaciones_anuladas (entidad_id, clave) VALUES (1, 'a')");
  BOOST_TEST(state(rejected) == "cancelada");
  BOOST_CHECK_THROW(insert("a"), DuplicateKey);
  const auto discarded = insert("b");
  reject_notifications(session, {{discarded, "no"}});
  discard_notification(session, discarded);
  withdraw(discarded);
  BOOST_CHECK_THROW(insert("b"), DuplicateKey);
}

BOOST_AUTO_TEST_CASE(the_holder_of_a_key_is_meant_before_a_newer_rejected_one) {
  const auto retried = insert("a");
  reject_notifications(session, {{retried, "no"}});
  const auto newer = insert("a");
  reject_notifications(session, {{newer, "no"}});
  BOOST_TEST((retry_notification(session, retried) == NotificationChange::done));
  session.execute("INSERT INTO notificaciones_anuladas (entidad_id, clave) VALUES (1, 'a')");
  BOOST_TEST(state(retried) == "cancelada");
  BOOST_TEST(state(newer) == "rechazada");
}

// For example after a restore: a withdrawal must not be taken and then ignored.
BOOST_AUTO_TEST_CASE(without_its_trigger_a_withdrawal_is_refused) {
  const auto id = insert("a");
  session.execute("DROP TRIGGER anular_notificacion");
  BOOST_CHECK_THROW(withdraw(id), DatabaseError);
  BOOST_TEST(session.query("SELECT id FROM notificaciones_anuladas").empty());
}

BOOST_AUTO_TEST_CASE(an_urgent_one_passes_what_has_waited_for_less_than_an_hour) {
  for (int i = 0; i < 3; ++i) queue_one();
  session.execute(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 2 HOUR ORDER BY id LIMIT 1");
  const auto urgent = queue_urgent();
  const auto claimed = claim_some(4);
  BOOST_REQUIRE_EQUAL(claimed.size(), 4U);
  BOOST_TEST(claimed[0].notification < urgent);
  BOOST_TEST(claimed[1].notification == urgent);
  BOOST_TEST(claimed[2].notification < urgent);
}

// Its head start is no delay: no alert may tell of an hour.
BOOST_AUTO_TEST_CASE(an_urgent_one_does_not_look_late) {
  queue_urgent();
  BOOST_TEST(queue_status(session).oldest_delivery_s < 60);
  const auto backlog = find_backlog(session, webhook.id);
  BOOST_TEST((backlog->oldest_due && backlog->now - *backlog->oldest_due < 60s));
  const auto logged = read_log_page(session, {webhook.id}, {}, 1, {}).deliveries.at(0);
  BOOST_TEST((logged.next_attempt == logged.created));
  const auto shown = find_delivery(session, logged.id);
  BOOST_TEST((shown->next_attempt == shown->created));
}

BOOST_AUTO_TEST_CASE(an_urgent_one_does_not_hide_that_others_are_late) {
  queue_one();
  session.execute(
      "UPDATE entregas SET creada_en = UTC_TIMESTAMP(3) - INTERVAL 30 MINUTE,"
      " proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 30 MINUTE");
  queue_urgent();
  BOOST_TEST(queue_status(session).oldest_delivery_s >= 1800);
  BOOST_TEST(queue_status(session).oldest_delivery_s < 1900);
}

BOOST_AUTO_TEST_SUITE_END()
