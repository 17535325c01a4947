// Notifications with rows that another session keeps locked: they wait, and delay no other; and what an
// earlier release has fanned out past such locks.
#include <boost/test/unit_test.hpp>

#include "dispatcher/fan_out/fan_out.hpp"
#include "dispatcher/scan/queue_scanner.hpp"
#include "lib/store/backlog/locked_notifications.hpp"
#include "lib/store/notifications/notifications.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/wait.hpp"

using namespace store;
using namespace store::testing;

namespace {

using platform::monotonic_now;

struct Fixture : DeliveryFixture {
  Session other = database.connect();
  dispatcher::ReadySet ready{0};
  dispatcher::QueueScanner scanner{{}, ready};
  dispatcher::FairSlots slots{{.total = 1000, .per_webhook = 10, .per_host = 1000, .longest = {}}};
  const dispatcher::Metrics metrics;
  dispatcher::FanOut fan_out{session, ready, slots, {}, platform::Log(), metrics};

  /// No time-out of the server may end the transaction that holds the locks.
  Fixture() {
    if (other.is_mariadb()) other.execute("SET SESSION idle_transaction_timeout = 0");
  }
  void lock(const std::string& which, const std::string& how = "FOR UPDATE") {
    other.execute("START TRANSACTION");
    other.query("SELECT id FROM notificaciones_pendientes " + which + ' ' + how);
  }
  std::int64_t processed() {
    return session.query("SELECT COUNT(*) AS n FROM notificaciones_pendientes WHERE estado = 'procesada'")
        .at(0)
        .integer("n");
  }
  /// One round of the dispatcher's loop.
  void round() {
    dispatcher::LeasedBatch batch(slots);
    scanner.look(session, monotonic_now(), true);
    fan_out.run_sendable(batch);
    fan_out.run_large(batch);
    fan_out.run_wrong(batch);
    fan_out.run_passed_over(batch);
    fan_out.run_suspect(batch);
    fan_out.run_ahead(batch);
  }
  void rounds_until(const std::function<bool()>& done, const char* what) {
    wait::until([&] { return round(), done(); }, what);
  }
  /// Writes what an earlier release has written for a notification that was locked.
  void fan_out_past_lock(NotificationId id) {
    session.update(
        "INSERT INTO notificaciones_apartadas VALUES (?, 'procesada', NULL, '0.2.0', UTC_TIMESTAMP(3))", id);
    session.update(
        "INSERT INTO entregas (notificacion_id, webhook_id, evento, estado, proximo_intento, creada_en)"
        " VALUES (?, ?, 'evaluacion.cerrada', 'pendiente', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))",
        id, webhook.id);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(locked_notifications, Fixture)

BOOST_AUTO_TEST_CASE(locked_ones_wait_and_new_ones_of_the_same_entity_do_not) {
  for (int i = 0; i < 6; ++i) insert_notification(session, 1);
  lock("WHERE id <= 6");
  rounds_until([&] { return fan_out.next_passed_over().has_value(); }, "the locked ones to be passed over");
  insert_notification(session, 1);
  rounds_until([&] { return processed() == 1; }, "the new one");
  other.execute("ROLLBACK");
  rounds_until([&] { return processed() == 7; }, "those that were locked");
}

// A session that reads only an index locks the entries of that index, which SKIP LOCKED by the primary key
// does not see.
BOOST_AUTO_TEST_CASE(locked_entries_of_the_index_delay_no_other) {
  for (int i = 0; i < 300; ++i) insert_notification(session, 1);
  lock("FORCE INDEX (notificaciones_por_expandir) WHERE estado = 'pendiente'", "LOCK IN SHARE MODE");
  rounds_until([&] { return fan_out.next_passed_over().has_value(); }, "the locked ones to be passed over");
  insert_notification(session, 1);
  rounds_until([&] { return processed() == 1; }, "the new one");
  other.execute("ROLLBACK");
  rounds_until([&] { return processed() == 301; }, "those that were locked");
}

// The brief lock of one row and of its recipient at once; then a later notification.
BOOST_AUTO_TEST_CASE(one_that_was_locked_together_with_its_webhook_is_not_forgotten) {
  const auto first = insert_notification(session, 1);
  lock("WHERE id = " + to_string(first));
  rounds_until([&] { return fan_out.next_passed_over().has_value(); }, "the first to be passed over");
  Session third = database.connect();
  third.execute("START TRANSACTION");
  const auto second = insert_notification(third, 1);
  third.query("SELECT id FROM webhooks FOR UPDATE");
  round();
  Session fourth = database.connect();
  third.execute("COMMIT");
  fourth.execute("START TRANSACTION");
  fourth.query("SELECT id FROM notificaciones_pendientes WHERE id = ? FOR UPDATE", second);
  fourth.query("SELECT id FROM webhooks FOR UPDATE");
  for (int i = 0; i < 3; ++i) round();
  other.execute("ROLLBACK");
  fourth.execute("ROLLBACK");
  insert_notification(session, 1);
  rounds_until([&] { return processed() == 3; }, "all three");
}

// A job that runs again holds a lock on each key that it finds taken (error 1062) until its transaction ends.
BOOST_AUTO_TEST_CASE(wrong_ones_with_locked_keys_wait_and_good_ones_of_their_entity_do_not) {
  if (!session.is_mariadb()) return;  // on MySQL such an INSERT blocks all others (docs/table.md)
  const auto insert = [](Session& with, int i) {
    with.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES (1, "
        "'evaluacion.cerrada', '{\"evaluacionId\":\"42\"}', ?)",
        i);
  };
  for (int i = 0; i < 50; ++i) insert(session, i);
  for (int i = 0; i < 5; ++i) insert_notification(session, 1);
  other.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  other.execute("START TRANSACTION");
  for (int i = 0; i < 50; ++i) BOOST_CHECK_THROW(insert(other, i), DuplicateKey);
  rounds_until([&] { return processed() == 5; }, "the good ones");
  BOOST_TEST(queue_status(session).rejected == 0);
  other.execute("ROLLBACK");
  rounds_until([&] { return queue_status(session).rejected == 50; }, "the wrong ones");
}

// Rows that can only be rejected are not in the way of others.
BOOST_AUTO_TEST_CASE(rows_of_unknown_entities_go_after_others_and_need_no_slot) {
  dispatcher::FairSlots none{{.total = 0, .per_webhook = 10, .per_host = 1000, .longest = {}}};
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1000 + seq, "
      "'evaluacion.cerrada', '{}' FROM " +
      numbers(3000));
  dispatcher::FanOut without_slots{session, ready, none, {}, platform::Log(), metrics};
  dispatcher::LeasedBatch batch(none);
  scanner.look(session, monotonic_now(), true);
  without_slots.run_wrong(batch);
  BOOST_TEST(queue_status(session).rejected > 0);
  insert_notification(session, 1);
  rounds_until([&] { return processed() == 1; }, "the one of an entity that exists");
  BOOST_TEST(queue_status(session).rejected < 3000);
}

// An entity's last row ends its turns: no later batch reads the entity again to find nothing.
BOOST_AUTO_TEST_CASE(an_unknown_entity_takes_one_turn) {
  for (const auto id : {77, 78, 79}) insert_notification(session, id);
  while (ready.entities.known() < 3) scanner.look(session, monotonic_now(), true);
  dispatcher::LeasedBatch batch(slots);
  fan_out.run_wrong(batch);
  BOOST_TEST(queue_status(session).rejected == 3);
  BOOST_TEST(ready.entities.known() == 0U);
}

// Large data have batches of their own. However often these run, because other tasks fill the loop's time
// (rejecting many, for example), each round takes what is in line, too.
BOOST_AUTO_TEST_CASE(large_ones_take_no_round_from_what_is_in_line) {
  const auto small = add_webhook(session, 2);
  const std::string large = R"({"evaluacionId": 1, "titulo": ")" + std::string(60'000, 'a') + "\"}";
  for (int i = 0; i < 60; ++i) insert_notification(session, 1, "evaluacion.cerrada", large);
  dispatcher::FairSlots many{{.total = 1000, .per_webhook = 1000, .per_host = 1000, .longest = {}}};
  dispatcher::FanOut with_slots{session, ready, many, {}, platform::Log(), metrics};
  dispatcher::LeasedBatch batch(many);
  wait::until(
      [&] {
        scanner.look(session, monotonic_now(), true);
        with_slots.run_sendable(batch);
        return ready.entities.count(dispatcher::ReadyEntities::Kind::large, monotonic_now()) == 1;
      },
      "the large ones to take turns");
  insert_notification(session, 2);
  while (ready.entities.line(1).empty()) scanner.look(session, monotonic_now(), true);
  const auto before = processed();
  with_slots.run_sendable(batch);
  BOOST_TEST(processed() == before + 1);
  BOOST_TEST((batch.deliveries.back().webhook == small.id));
  with_slots.run_large(batch);
  BOOST_TEST(processed() == before + 2);
}

// What the look saw is a hint: the batch reads the entity again.
BOOST_AUTO_TEST_CASE(an_entity_registered_since_the_look_gets_its_notifications) {
  for (const auto id : {77, 78}) insert_notification(session, id);
  while (ready.entities.known() < 2) scanner.look(session, monotonic_now(), true);
  session.execute("INSERT INTO entidades (id, nombre) VALUES (77, 'e')");
  dispatcher::LeasedBatch batch(slots);
  fan_out.run_wrong(batch);
  BOOST_TEST(processed() == 1);
  BOOST_TEST(queue_status(session).rejected == 1);
  insert_notification(session, 77);
  rounds_until([&] { return processed() == 2; }, "the next one, in its turn");
}

// The session that disables or enables an entity has its row locked.
BOOST_AUTO_TEST_CASE(an_entity_that_is_being_enabled_is_waited_for) {
  session.execute("UPDATE entidades SET activa = FALSE");
  insert_notification(session, 1);
  other.execute("START TRANSACTION");
  other.execute("UPDATE entidades SET activa = TRUE");
  for (int i = 0; i < 20; ++i) round();
  BOOST_TEST(queue_status(session).rejected == 0);
  other.execute("COMMIT");
  rounds_until([&] { return processed() == 1; }, "it");
}

BOOST_AUTO_TEST_CASE(the_operator_sees_what_has_been_locked_for_a_minute) {
  const auto id = insert_notification(session, 1);
  session.execute("UPDATE notificaciones_pendientes SET ocurrida_en = UTC_TIMESTAMP(3) - INTERVAL 2 MINUTE");
  BOOST_TEST(!find_locked_notifications(session).has_value());
  lock("");
  const auto locked = find_locked_notifications(session);
  BOOST_REQUIRE(locked.has_value());
  BOOST_TEST(locked->count == 1U);
  BOOST_TEST(locked->first.id == id);
  BOOST_TEST(locked->first.entity == 1);
  BOOST_TEST(locked->holders == "none has locks for so long");  // the transaction has just begun
}

BOOST_AUTO_TEST_CASE(one_that_has_deliveries_already_is_marked_and_gets_no_second_ones) {
  const auto id = insert_notification(session, 1);
  fan_out_past_lock(id);
  create_webhook(session,
                 {1, "https://otro.example.org/", ::webhook::EventSet::from_joined("evaluacion.cerrada"), {}},
                 keys());
  rounds_until([&] { return processed() == 1; }, "the row to be marked");
  BOOST_CHECK_EQUAL(list_deliveries(session, {}).size(), 1U);
}

// Rows that release 0.2.0 has left in notificaciones_apartadas, at the upgrade.
BOOST_AUTO_TEST_CASE(the_upgrade_loses_nothing_that_was_put_aside) {
  const auto sent = insert_notification(session, 1);
  const auto cancelled = insert_notification(session, 1);
  const auto rejected = insert_notification(session, 1);
  fan_out_past_lock(sent);
  session.update(
      "INSERT INTO notificaciones_apartadas VALUES (?, 'cancelada', 'no', '0.2.0', UTC_TIMESTAMP(3)),"
      " (?, 'rechazada', 'fila', '0.2.0', UTC_TIMESTAMP(3))",
      cancelled, rejected);
  session.execute("DELETE FROM migraciones WHERE numero >= 30");
  Session guard = database.connect();
  migrate(session, read_migrations(SOURCE_DIR "/sql/migrations"), guard, [](const std::string&) {});
  rounds_until([&] { return processed() == 2; }, "the others to be dealt with");
  BOOST_CHECK_EQUAL(find_notification(session, cancelled).value().state, "cancelada");
  BOOST_CHECK_EQUAL(find_notification(session, cancelled).value().error.value_or(""), "no");
  BOOST_CHECK_EQUAL(list_deliveries(session, {}).size(), 2U);
}

BOOST_AUTO_TEST_SUITE_END()
