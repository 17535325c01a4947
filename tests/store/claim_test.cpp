// Claims, their leases, and rows that other sessions lock.
#include <boost/test/unit_test.hpp>

#include "tests/store/delivery_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

BOOST_FIXTURE_TEST_SUITE(claims, DeliveryFixture)

BOOST_AUTO_TEST_CASE(a_claim_is_in_order_within_its_limits_and_exclusive) {
  for (int i = 0; i < 5; ++i) insert_notification(session, 1);
  fan_out(session);
  BOOST_CHECK(load_recipients(session, {1}).at(1).webhooks.at(0).backlog);
  BOOST_CHECK(!nothing_due());
  const auto first = claim_some(3);
  const auto second = claim_some(10, {102, Milliseconds(60000)});
  BOOST_REQUIRE_EQUAL(first.size(), 3U);
  BOOST_REQUIRE_EQUAL(second.size(), 2U);
  BOOST_CHECK_LT(first[0].notification, first[1].notification);
  BOOST_CHECK_LT(first[2].notification, second[0].notification);
  BOOST_CHECK_EQUAL(first[0].data, R"({"evaluacionId": 1, "titulo": "t"})");
  BOOST_CHECK(nothing_due());
}

BOOST_AUTO_TEST_CASE(a_claim_begins_where_it_is_told_and_says_how_far_it_got) {
  for (int i = 0; i < 3; ++i) queue_one();
  session.update("UPDATE entregas SET proximo_intento = '2026-01-01' + INTERVAL id SECOND");
  const auto first = claim(session, {{webhook.id, 1}}, long_lease);
  BOOST_REQUIRE_EQUAL(first.reached.size(), 1U);
  BOOST_CHECK_EQUAL(first.reached[0].found, 1U);
  auto after = first.reached[0].last;
  after.due += Milliseconds(1001);
  const auto rest = claim(session, {{webhook.id, 10, after}}, long_lease);
  BOOST_CHECK_EQUAL(rest.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(rest.reached[0].found, 1U);
  BOOST_CHECK_EQUAL(claim_some(10).size(), 1U);
}

BOOST_AUTO_TEST_CASE(a_delete_waits_for_a_fan_out_that_has_looked) {
  // If the DELETE did not wait, the fan-out could commit after the DELETE is answered, and the new deliveries
  // would be sent.
  queue_one();
  Session other = database.connect();
  other.execute("SET SESSION innodb_lock_wait_timeout = 1");
  session.execute("START TRANSACTION");
  load_recipients(session, {1});
  BOOST_CHECK_THROW(delete_webhook(other, {1}, webhook.id), Conflict);
  session.execute("ROLLBACK");
}

BOOST_AUTO_TEST_CASE(a_lease_on_a_locked_delivery_can_be_released_later) {
  queue_one();
  queue_one();
  const auto leased = claim_some(2);
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas WHERE id = ? FOR UPDATE", leased[0].id);
  const auto held = release_leases(session, leased);
  BOOST_REQUIRE_EQUAL(held.size(), 1U);
  BOOST_CHECK_EQUAL(held[0].id, leased[0].id);
  BOOST_CHECK_EQUAL(claim_one().id, leased[1].id);
  other.execute("ROLLBACK");
  BOOST_CHECK(release_leases(session, held).empty());
  BOOST_CHECK_EQUAL(claim_one().id, leased[0].id);
}

BOOST_AUTO_TEST_CASE(released_leases_are_due_at_once) {
  queue_one();
  const auto leased = claim_one();
  release_leases(session, {leased});
  BOOST_CHECK_EQUAL(claim_one().id, leased.id);
}

BOOST_AUTO_TEST_CASE(maintenance_skips_locked_deliveries) {
  queue_one();
  const auto leased = claim_one({1, Milliseconds(0)});
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT id FROM entregas WHERE id = ? FOR UPDATE", leased.id);
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 0U);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  disable_webhook(session, webhook.id, disabled_by_operator);
  other.execute("START TRANSACTION");
  other.query("SELECT id FROM entregas WHERE id = ? FOR UPDATE", leased.id);
  BOOST_CHECK_EQUAL(reconcile(session).held, 0U);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(reconcile(session).held, 1U);
}

BOOST_AUTO_TEST_CASE(a_claim_is_bounded_by_bytes_and_goes_on_where_it_stopped) {
  constexpr unsigned all = 40;  // notifications, each with 60,000 bytes of data
  const auto data = R"({"n": ")" + std::string(60'000, 'x') + R"("})";
  for (unsigned i = 0; i < all; ++i) insert_notification(session, 1, "evaluacion.cerrada", data);
  fan_out(session);
  const auto first = claim(session, {{webhook.id, all}}, long_lease);
  BOOST_TEST(first.leased.deliveries.size() == bytes_per_claim / data.size());
  BOOST_TEST(first.reached.at(0).found == all);  // the request's limit, so more may wait
  const auto second = claim(session, {{webhook.id, all, first.reached.at(0).last}}, long_lease);
  BOOST_TEST(second.leased.deliveries.size() == all - first.leased.deliveries.size());
  BOOST_TEST(second.reached.at(0).found < all);
}

BOOST_AUTO_TEST_CASE(a_webhook_put_off_for_bytes_keeps_its_position) {
  const auto data = R"({"n": ")" + std::string(60'000, 'x') + R"("})";
  for (int i = 0; i < 40; ++i) insert_notification(session, 1, "evaluacion.cerrada", data);
  const auto other = add_webhook(session, 2);
  insert_notification(session, 2, "evaluacion.cerrada", data);
  fan_out(session);
  const auto result = claim(session, {{webhook.id, 40}, {other.id, 1}}, long_lease);
  BOOST_TEST(result.reached.at(1).found == 1U);
  BOOST_TEST((result.reached.at(1).last == DuePosition{}));
  BOOST_TEST(claim(session, {{other.id, 1}}, long_lease).leased.deliveries.size() == 1U);
}

// A database user with INSERT on `entregas` can write a delivery of one entity's notification for a webhook
// of another entity.
BOOST_AUTO_TEST_CASE(another_entitys_notification_is_never_leased) {
  add_webhook(session, 2);
  const auto foreign = insert_notification(session, 2);
  fan_out(session);
  session.update(
      "INSERT INTO entregas (notificacion_id, webhook_id, estado, paso, proximo_intento, creada_en)"
      " VALUES (?, ?, 'pendiente', 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))",
      foreign, webhook.id);
  queue_one();
  const auto result = claim(session, {{webhook.id, 10}}, long_lease);
  BOOST_REQUIRE_EQUAL(result.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(result.leased.deliveries[0].entity, 1);
  BOOST_REQUIRE_EQUAL(result.leased.foreign.size(), 1U);
  const auto rows = session.query(
      "SELECT estado, ultimo_error FROM entregas WHERE notificacion_id = ? AND"
      " webhook_id = ?",
      foreign, webhook.id);
  BOOST_CHECK_EQUAL(rows.at(0).text("estado"), "cancelada");
  BOOST_CHECK_EQUAL(rows.at(0).text("ultimo_error"), "La notificación es de otra entidad");
  BOOST_CHECK(claim_some(10, {102, Milliseconds(60000)}).empty());
}

BOOST_AUTO_TEST_CASE(a_delivery_of_an_expired_notification_is_cancelled_instead_of_leased) {
  const auto sent = insert_notification(session, 1);
  const auto expired = insert_notification(session, 1);
  const auto replayed = insert_notification(session, 1);
  fan_out(session);
  session.update(
      "UPDATE notificaciones_pendientes SET caduca_en = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR WHERE id = ?",
      sent);
  session.update("UPDATE notificaciones_pendientes SET caduca_en = UTC_TIMESTAMP(3) WHERE id IN (?, ?)",
                 expired, replayed);
  session.update("UPDATE entregas SET entregada_en = UTC_TIMESTAMP(3) WHERE notificacion_id = ?", replayed);
  const auto result = claim(session, {{webhook.id, 10}}, long_lease);
  BOOST_REQUIRE_EQUAL(result.leased.deliveries.size(), 1U);
  BOOST_CHECK_EQUAL(result.leased.deliveries[0].notification, sent);
  BOOST_CHECK_EQUAL(result.leased.expired, 2U);
  const auto rows = session.query(
      "SELECT entregadas, canceladas, caducadas, COALESCE(ultimo_error, '') AS error FROM "
      "notificaciones_resultado"
      " ORDER BY notificacion_id");
  BOOST_REQUIRE_EQUAL(rows.size(), 3U);
  BOOST_CHECK_EQUAL(rows.at(0).integer("caducadas"), 0);
  BOOST_CHECK_EQUAL(rows.at(1).integer("canceladas"), 1);
  BOOST_CHECK_EQUAL(rows.at(1).integer("caducadas"), 1);
  BOOST_CHECK_EQUAL(rows.at(1).text("error"), "La notificación ha caducado");
  BOOST_CHECK_EQUAL(rows.at(2).integer("entregadas"), 1);  // before its replay
  BOOST_CHECK_EQUAL(rows.at(2).integer("caducadas"), 0);
  BOOST_CHECK(claim_some(10, {102, Milliseconds(60000)}).empty());
}

BOOST_AUTO_TEST_CASE(a_claimed_delivery_goes_to_the_current_url) {
  queue_one();
  session.update("UPDATE webhooks SET url = 'https://otro.example/' WHERE id = ?", webhook.id);
  const auto leased = claim(session, {{webhook.id, 1}}, long_lease).leased;
  BOOST_REQUIRE_EQUAL(leased.targets.size(), 1U);
  BOOST_CHECK_EQUAL(leased.targets.at(webhook.id).url, "https://otro.example/");
}

BOOST_AUTO_TEST_CASE(nothing_is_leased_once_an_entity_is_disabled_or_while_that_is_not_decided) {
  queue_one();
  Session other = database.connect();
  other.execute("START TRANSACTION");
  set_entity_active(other, 1, false);
  const auto undecided = claim(session, {{webhook.id, 1}}, long_lease);
  BOOST_CHECK(undecided.leased.deliveries.empty() && undecided.reached.at(0).skipped);
  other.execute("COMMIT");
  BOOST_CHECK(claim(session, {{webhook.id, 1}}, long_lease).leased.deliveries.empty());
}

BOOST_AUTO_TEST_CASE(disabling_an_entity_waits_for_a_fan_out_that_has_looked) {
  queue_one();
  Session other = database.connect();
  other.execute("SET SESSION innodb_lock_wait_timeout = 1");
  session.execute("START TRANSACTION");
  load_recipients(session, {1});
  BOOST_CHECK_THROW(set_entity_active(other, 1, false), Conflict);
  session.execute("ROLLBACK");
}

BOOST_AUTO_TEST_SUITE_END()
