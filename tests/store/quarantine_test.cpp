// Rows that violate a CHECK, and rows that cannot be changed: rejected or quarantined, shown, retried,
// discarded, purged.
#include <boost/test/unit_test.hpp>

#include "lib/store/notifications/quarantine.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

constexpr std::string_view reason = "fila: la base de datos la rechaza: error 4025";

/// Makes rows that violate a CHECK, as the evaluation system's user can. On MariaDB the user needs no special
/// right (`SET check_constraint_checks = 0`); on MySQL the DBA must have made the CHECKs NOT ENFORCED.
struct Fixture : MaintenanceFixture {
  bool mariadb = number("SELECT VERSION() LIKE '%MariaDB%'") == 1;

  void switch_checks_off() {
    if (mariadb) return session.execute("SET check_constraint_checks = 0");
    for (const auto& row :
         session.query("SELECT constraint_name AS name FROM information_schema.table_constraints"
                       " WHERE table_schema = DATABASE() AND constraint_type = 'CHECK'"
                       " AND table_name = 'notificaciones_pendientes'"))
      session.execute("ALTER TABLE notificaciones_pendientes ALTER CHECK " + row.text("name") +
                      " NOT ENFORCED");
  }
  void switch_checks_on() {
    if (mariadb) session.execute("SET check_constraint_checks = 1");
  }
  NotificationId insert(const std::string& columns, const std::string& values) {
    session.execute("INSERT INTO notificaciones_pendientes (entidad_id, " + columns + ") VALUES (1, " +
                    values + ")");
    return session.last_insert_id();
  }
  /// For each CHECK on the columns that a writer sets, inserts at least one row that violates it.
  std::vector<NotificationId> insert_bad_rows() {
    switch_checks_off();
    session.execute("SET sql_mode = 'ALLOW_INVALID_DATES'");
    std::vector<NotificationId> ids{
        insert("evento, datos", "'nada', '{}'"),
        insert("evento, datos", "'evaluacion.cerrada ', '{}'"),
        insert("evento, datos", "'evaluacion.cerrada', '{'"),
        insert("evento, datos", "'evaluacion.cerrada', CONCAT('{\"a\":\"', REPEAT('x', 3000000), '\"}')"),
        insert("evento, datos", "'evaluacion.cerrada', REPEAT('x', 3000000)"),
        insert("evento, datos, clave", "'evaluacion.cerrada', '{}', ''"),
        insert("evento, datos, clave", "'evaluacion.cerrada', '{}', REPEAT('c', 100)"),
        insert("evento, datos, ocurrida_en", "'evaluacion.cerrada', '{}', '1950-01-01'"),
        insert("evento, datos, ocurrida_en", "'evaluacion.cerrada', '{}', '2026-00-15'"),
        insert("evento, datos, ocurrida_en", "'evaluacion.cerrada', '{}', '2026-02-31'"),
    };
    session.execute("SET sql_mode = DEFAULT");
    switch_checks_on();
    session = database.connect();
    return ids;
  }
  Notification find(NotificationId id) { return find_notification(session, id).value(); }
  std::vector<Notification> list(std::optional<std::string> state) {
    ListFilter filter;
    filter.state = std::move(state);
    return list_notifications(session, filter);
  }
  /// Adds a trigger that refuses every UPDATE of a notification, as a trigger of the DBA might.
  void refuse_every_change() {
    session.execute(
        "CREATE TRIGGER del_sitio BEFORE UPDATE ON notificaciones_pendientes FOR EACH ROW"
        " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no se toca'");
  }
  NotificationId quarantine_one() {
    const auto id = insert_notification(session, 1);
    BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
    return id;
  }
  struct Taken {
    std::vector<PendingNotification> notifications, left;
  };
  Taken take() {
    Taken taken;
    taken.notifications = oldest_pending(session, {{1, 0, 10}});
    taken.left = leave_quarantined(taken.notifications);
    return taken;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(quarantine, Fixture)

BOOST_AUTO_TEST_CASE(a_row_that_violates_a_check_is_rejected_retried_and_discarded) {
  for (const auto id : insert_bad_rows()) {
    BOOST_TEST_CONTEXT("row " << id) {
      BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::rejected);
      BOOST_CHECK_EQUAL(find(id).state, "rechazada");
      BOOST_CHECK_EQUAL(find(id).error.value_or(""), reason);
      BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::no);
      BOOST_CHECK(retry_notification(session, id) == NotificationChange::done);
      BOOST_CHECK_EQUAL(find(id).state, "pendiente");
      BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::done);
      BOOST_CHECK_EQUAL(find(id).state, "cancelada");
    }
  }
  session.execute("DELETE FROM notificaciones_pendientes");
  for (const auto id : insert_bad_rows()) {
    BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::rejected);
    BOOST_CHECK(discard_notification(session, id) == NotificationChange::done);
    BOOST_CHECK_EQUAL(find(id).state, "cancelada");
    BOOST_CHECK_EQUAL(find(id).error.value_or(""), reason);
  }
  BOOST_CHECK_EQUAL(count("notificaciones_apartadas"), 0);
}

BOOST_AUTO_TEST_CASE(the_fan_out_rejects_notifications_that_violate_checks) {
  const auto ids = insert_bad_rows();
  FanOut fan_out;
  for (const auto id : ids) fan_out.rejected.push_back({id, "evento: no"});
  transaction(session, [&] { return write_fan_out(session, fan_out, {1, Milliseconds(1000)}); });
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes", "estado = 'rechazada'"), std::ssize(ids));
}

BOOST_AUTO_TEST_CASE(an_invalid_clave_is_told) {
  switch_checks_off();
  insert("evento, datos, clave", "'evaluacion.cerrada', '{}', ''");
  insert("evento, datos, clave", "'evaluacion.cerrada', '{}', 'buena'");
  switch_checks_on();
  const auto taken = take();
  BOOST_REQUIRE_EQUAL(taken.notifications.size(), 2U);
  BOOST_CHECK(!taken.notifications[0].valid_key && taken.notifications[1].valid_key);
}

BOOST_AUTO_TEST_CASE(data_that_are_too_long_are_not_fetched) {
  switch_checks_off();
  const auto id = insert("evento, datos", "'evaluacion.cerrada', CONCAT('\"', REPEAT('x', 65535), '\"')");
  switch_checks_on();
  BOOST_CHECK(!find(id).data);
  BOOST_CHECK_EQUAL(find(insert_notification(session, 1, "evaluacion.cerrada", "{}")).data.value_or(""),
                    "{}");
}

BOOST_AUTO_TEST_CASE(a_date_that_is_none_does_not_hide_the_others) {
  insert_bad_rows();
  BOOST_CHECK_EQUAL(list(std::nullopt).size(), 10U);
}

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_changed_is_quarantined) {
  refuse_every_change();
  const auto id = quarantine_one();
  const auto good = insert_notification(session, 1);
  BOOST_CHECK_EQUAL(find(id).state, "rechazada");
  BOOST_CHECK_EQUAL(find(id).error.value_or(""), reason);
  const auto listed = list("rechazada");
  BOOST_REQUIRE_EQUAL(listed.size(), 1U);
  BOOST_CHECK_EQUAL(listed[0].id, id);
  BOOST_CHECK_EQUAL(list("pendiente").at(0).id, good);
  const auto taken = take();
  BOOST_REQUIRE_EQUAL(taken.notifications.size(), 1U);
  BOOST_CHECK_EQUAL(taken.notifications[0].id, good);
  BOOST_REQUIRE_EQUAL(taken.left.size(), 1U);
  BOOST_CHECK_EQUAL(taken.left[0].id, id);
  BOOST_CHECK(read_pending(session, {id}).at(0).quarantined);
  BOOST_CHECK(reject_or_quarantine(session, 999, reason) == Rejection::no);
}

BOOST_AUTO_TEST_CASE(a_quarantined_notification_counts_as_rejected_and_not_as_pending) {
  add_webhook(session, 1);
  const auto id = insert_notification(session, 1);
  session.execute("UPDATE notificaciones_pendientes SET ocurrida_en = UTC_TIMESTAMP(3) - INTERVAL 1 HOUR");
  refuse_every_change();
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
  for (const auto& status : {queue_status(session), queue_status(session, 100)}) {
    BOOST_CHECK_EQUAL(status.pending_notifications, 0);
    BOOST_CHECK_EQUAL(status.rejected, 1);
    BOOST_CHECK_EQUAL(status.oldest_s, 0);
  }
}

BOOST_AUTO_TEST_CASE(the_operator_retries_or_discards_a_quarantined_notification) {
  refuse_every_change();
  const auto retried = quarantine_one(), discarded = quarantine_one(), cancelled = quarantine_one();
  const auto untouched = insert_notification(session, 1);
  BOOST_CHECK(retry_notification(session, retried) == NotificationChange::done);
  BOOST_CHECK(discard_notification(session, discarded) == NotificationChange::done);
  BOOST_CHECK(cancel_notification(session, cancelled).change == NotificationChange::done);
  BOOST_CHECK(cancel_notification(session, untouched).change == NotificationChange::done);
  BOOST_CHECK_EQUAL(find(retried).state, "pendiente");
  for (const auto id : {discarded, cancelled, untouched}) {
    BOOST_CHECK_EQUAL(find(id).state, "cancelada");
    BOOST_CHECK(find(id).error);
    BOOST_CHECK(retry_notification(session, id) == NotificationChange::wrong_state);
  }
  const auto taken = take();
  BOOST_REQUIRE_EQUAL(taken.notifications.size(), 1U);
  BOOST_CHECK_EQUAL(taken.notifications[0].id, retried);
  BOOST_CHECK_EQUAL(queue_status(session).rejected, 0);
  // Without the trigger, discarding changes the row of notificaciones_pendientes.
  session.execute("DROP TRIGGER del_sitio");
  const auto later = insert_notification(session, 1);
  session.update("INSERT INTO notificaciones_apartadas SELECT ?, 'rechazada', 'x', 'v', UTC_TIMESTAMP(3)",
                 later);
  BOOST_CHECK(discard_notification(session, later) == NotificationChange::done);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes", "estado = 'cancelada'"), 1);
  BOOST_CHECK_EQUAL(count("notificaciones_apartadas", "estado = 'rechazada'"), 0);
}

BOOST_AUTO_TEST_CASE(another_version_retries_the_quarantine_except_discarded_rows) {
  refuse_every_change();
  const auto id = quarantine_one();
  BOOST_CHECK(discard_notification(session, quarantine_one()) == NotificationChange::done);
  BOOST_CHECK(take().notifications.empty());
  session.execute("UPDATE notificaciones_apartadas SET version = '0.0.0'");
  BOOST_REQUIRE_EQUAL(take().notifications.size(), 1U);
  BOOST_CHECK_EQUAL(take().notifications[0].id, id);
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
  BOOST_CHECK(take().notifications.empty());
}

BOOST_AUTO_TEST_CASE(two_concurrent_versions_try_a_quarantined_notification_once_each) {
  refuse_every_change();
  const auto id = quarantine_one();
  session.execute("UPDATE notificaciones_apartadas SET version = '0.0.0'");
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
  const auto versions = [&] {
    return session.query("SELECT version FROM notificaciones_apartadas").at(0).text("version");
  };
  BOOST_TEST(versions().ends_with(",0.0.0"));
  const auto before = versions();
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
  BOOST_TEST(versions() == before);
  session.execute("UPDATE notificaciones_apartadas SET version = CONCAT(REPEAT('1.10.12,', 5), '1.10.12')");
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
  BOOST_TEST(versions().ends_with(",1.10.12"));  // no version is cut: 1.10.1 has not tried the notification
  session.execute("UPDATE notificaciones_apartadas SET version = REPEAT('9', 50)");
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::quarantined);
  BOOST_CHECK(take().notifications.empty());
}

BOOST_AUTO_TEST_CASE(a_locked_notification_is_left_without_waiting) {
  const auto id = insert_notification(session, 1);
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM notificaciones_pendientes FOR UPDATE");
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::no);
  other.execute("ROLLBACK");
  BOOST_CHECK(reject_or_quarantine(session, id, reason) == Rejection::rejected);
}

BOOST_AUTO_TEST_CASE(retention_purges_the_quarantine_and_its_notifications) {
  refuse_every_change();
  quarantine_one(), quarantine_one(), quarantine_one();
  session.execute(
      "UPDATE notificaciones_apartadas SET apartada_en = apartada_en - INTERVAL 61 DAY ORDER BY"
      " notificacion_id LIMIT 2");
  session.execute(
      "UPDATE notificaciones_apartadas SET apartada_en = apartada_en - INTERVAL 59 DAY ORDER BY"
      " notificacion_id DESC LIMIT 1");
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM notificaciones_pendientes ORDER BY id LIMIT 1 FOR UPDATE");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 1U);
  BOOST_CHECK_EQUAL(count("notificaciones_apartadas"), 2);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(sweep(session, retention).rows, 1U);
  BOOST_CHECK_EQUAL(count("notificaciones_apartadas"), 1);
  BOOST_CHECK_EQUAL(count("notificaciones_pendientes"), 1);
}

BOOST_AUTO_TEST_CASE(the_reason_is_short_enough_and_whole) {
  std::string ene;
  for (int i = 0; i < 400; ++i) ene += "ñ";
  const auto text = refusal_text(Refused(1644, "database error 1644: " + ene));
  BOOST_CHECK(text.starts_with("fila: la base de datos la rechaza: error 1644: ñ"));
  BOOST_CHECK_LE(text.size(), 500U);
  BOOST_CHECK_GE(text.size(), 498U);
  BOOST_CHECK(text.ends_with("ñ"));
}

BOOST_AUTO_TEST_SUITE_END()
