// Rows that violate a CHECK, and rows that cannot be changed: rejected, shown, retried, discarded.
#include <boost/test/unit_test.hpp>

#include "lib/store/notifications/rejection.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

const std::string reason = "fila: la base de datos la rechaza: error 4025";

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
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rejection, Fixture)

BOOST_AUTO_TEST_CASE(a_row_that_violates_a_check_is_rejected_retried_and_discarded) {
  for (const auto id : insert_bad_rows()) {
    BOOST_TEST_CONTEXT("row " << id) {
      BOOST_CHECK_EQUAL(reject_notifications(session, {{id, reason}}), 1U);
      BOOST_CHECK_EQUAL(find(id).state, "rechazada");
      BOOST_CHECK_EQUAL(find(id).error.value_or(""), reason);
      BOOST_CHECK_EQUAL(reject_notifications(session, {{id, reason}}), 0U);
      BOOST_CHECK(retry_notification(session, id) == NotificationChange::done);
      BOOST_CHECK_EQUAL(find(id).state, "pendiente");
      BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::done);
      BOOST_CHECK_EQUAL(find(id).state, "cancelada");
    }
  }
  session.execute("DELETE FROM notificaciones_pendientes");
  for (const auto id : insert_bad_rows()) {
    BOOST_CHECK_EQUAL(reject_notifications(session, {{id, reason}}), 1U);
    BOOST_CHECK(discard_notification(session, id) == NotificationChange::done);
    BOOST_CHECK_EQUAL(find(id).state, "cancelada");
    BOOST_CHECK_EQUAL(find(id).error.value_or(""), reason);
  }
}

BOOST_AUTO_TEST_CASE(many_are_rejected_at_once_each_with_its_reason) {
  std::vector<RejectedNotification> rejected;
  for (const auto id : insert_bad_rows()) rejected.push_back({id, "«ñ» \"" + to_string(id)});
  const auto good = insert_notification(session, 1);
  BOOST_CHECK_EQUAL(reject_notifications(session, rejected), rejected.size());
  for (const auto& [id, text] : rejected) {
    BOOST_CHECK_EQUAL(find(id).state, "rechazada");
    BOOST_CHECK_EQUAL(find(id).error.value_or(""), text);
  }
  BOOST_CHECK_EQUAL(find(good).state, "pendiente");
  BOOST_CHECK_EQUAL(reject_notifications(session, rejected), 0U);
}

BOOST_AUTO_TEST_CASE(an_invalid_clave_is_told) {
  switch_checks_off();
  insert("evento, datos, clave", "'evaluacion.cerrada', '{}', ''");
  insert("evento, datos, clave", "'evaluacion.cerrada', '{}', 'buena'");
  switch_checks_on();
  const auto taken = oldest_pending(session, {{1, 0, 10}});
  BOOST_REQUIRE_EQUAL(taken.size(), 2U);
  BOOST_CHECK(!taken[0].valid_key && taken[1].valid_key);
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

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_changed_stays_pending) {
  refuse_every_change();
  const auto id = insert_notification(session, 1);
  BOOST_CHECK_THROW(reject_notifications(session, {{id, reason}}), Refused);
  BOOST_CHECK_EQUAL(find(id).state, "pendiente");
  BOOST_CHECK_THROW(cancel_notification(session, id), Refused);
  session.execute("DROP TRIGGER del_sitio");
  BOOST_CHECK(cancel_notification(session, id).change == NotificationChange::done);
}

BOOST_AUTO_TEST_CASE(a_locked_notification_is_not_waited_for) {
  if (!mariadb) return;  // MySQL waits a second
  const auto id = insert_notification(session, 1);
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM notificaciones_pendientes FOR UPDATE");
  BOOST_CHECK(waits_for_no_lock(session, [&] {
    BOOST_CHECK_THROW(reject_notifications(session, {{id, reason}}), LockTimeout);
  }));
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(reject_notifications(session, {{id, reason}}), 1U);
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
