// How replayed deliveries become due: in which order, how many at a time, and what changes with failures,
// locks and other replays.
#include <boost/test/unit_test.hpp>

#include "lib/store/deliveries/brought_forward.hpp"
#include "lib/store/deliveries/lease.hpp"
#include "tests/store/replay_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using enum ReplayAsked;

BOOST_FIXTURE_TEST_SUITE(replay_feed, ReplayFixture)

BOOST_AUTO_TEST_CASE(a_range_is_replayed_oldest_first_in_batches) {
  add_deliveries(3, "fallida", 5);
  add_deliveries(12, "fallida", 2);
  add_deliveries(3, "entregada", 2);
  failed.since = platform::utc_now() - 72h;
  failed.until = platform::utc_now() - 24h;
  BOOST_CHECK_EQUAL(count_candidates(session, webhook.id, failed).count, 12U);
  const auto asked = ask(failed);
  BOOST_CHECK_EQUAL(progress(asked).candidates, 12U);
  std::vector<DeliveryId> sent;
  for (const unsigned batch : {5U, 5U, 2U}) {
    BOOST_CHECK_EQUAL(fed(), batch);
    BOOST_CHECK_EQUAL(fed(), 0U);  // no more until that batch has been tried
    for (const auto& leased : claim_some(10)) {
      sent.push_back(leased.id);
      succeed(leased);
    }
  }
  BOOST_CHECK(std::ranges::is_sorted(sent) && sent.size() == 12);
  const auto shown = progress(asked);
  BOOST_CHECK(shown.replay.state == "terminado" && shown.replayed == 12 && shown.delivered == 12);
  BOOST_CHECK_EQUAL(ask(failed).result == done, true);  // accepted, because the first range has ended
}

BOOST_AUTO_TEST_CASE(a_range_excludes_tests_other_events_and_cancelled_notifications) {
  add_deliveries(4, "entregada", 0);
  add_deliveries(2, "fallida", 0);
  session.update("UPDATE notificaciones_pendientes SET evento = 'incidencia.cerrada' ORDER BY id LIMIT 1");
  session.update(
      "UPDATE notificaciones_pendientes SET origen = 'prueba' WHERE id IN (SELECT * FROM (SELECT MIN(id) + 1"
      " FROM notificaciones_pendientes) t)");
  session.update(
      "UPDATE notificaciones_pendientes SET estado = 'cancelada' WHERE id IN (SELECT * FROM (SELECT MIN(id) "
      "+ 2"
      " FROM notificaciones_pendientes) t)");
  BOOST_CHECK_EQUAL(count_candidates(session, webhook.id, all).count, 4U);
  all.events = webhook::name(webhook::Event::evaluacion_abierta);
  BOOST_CHECK_EQUAL(count_candidates(session, webhook.id, all).count, 3U);
  ask(all);
  BOOST_CHECK_EQUAL(fed(), 3U);
}

BOOST_AUTO_TEST_CASE(a_second_range_is_refused_while_one_runs_and_singles_go_before_it) {
  add_deliveries(20, "fallida", 0);
  const auto single = newest("fallida");
  const auto first = ask(failed);
  const auto second = ask(all);
  BOOST_CHECK(second.result == running && second.replay.id == first.replay.id);
  ask(single);
  BOOST_CHECK_EQUAL(fed(), 1U);
  BOOST_CHECK_EQUAL(claim_one().id, single);
}

BOOST_AUTO_TEST_CASE(a_failing_webhook_gets_one_replay_until_a_success) {
  queue_one();
  fail(claim_one(), 500, true);  // the last attempt: no delivery of the webhook waits for a retry
  add_deliveries(9, "fallida", 0);
  ask(failed);
  BOOST_CHECK_EQUAL(fed(), 1U);
  const auto first = claim_one();
  fail(first, 502);
  BOOST_CHECK_EQUAL(fed(), 0U);  // the delivery waits for its retry
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE id = ?", first.id);
  succeed(claim_one());
  BOOST_CHECK_EQUAL(fed(), 5U);
}

BOOST_AUTO_TEST_CASE(a_webhook_that_was_enabled_gets_one_replay_until_a_success) {
  queue_one();
  fail(claim_one(), {}, true);
  session.update("UPDATE webhook_ejecuciones SET fallos = 0, fallos_desde = NULL, sondeo = FALSE");  // enable
  add_deliveries(9, "fallida", 0);
  ask(failed);
  BOOST_CHECK_EQUAL(fed(), 1U);
}

BOOST_AUTO_TEST_CASE(ten_refusals_in_a_row_stop_a_range_until_a_success) {
  add_deliveries(30, "fallida", 0);
  ask(failed);
  for (const unsigned batch : {5U, 5U, 0U}) {
    BOOST_CHECK_EQUAL(fed(), batch);
    for (const auto& leased : claim_some(10)) fail(leased, 401);
  }
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE paso > 0 LIMIT 1");
  succeed(claim_one());
  BOOST_CHECK_EQUAL(fed(), 5U);
}

BOOST_AUTO_TEST_CASE(no_more_than_a_hundred_wait_for_a_retry) {
  add_deliveries(200, "fallida", 0);
  const auto single = newest("fallida");
  ask(failed);
  std::vector<DeliveryId> refused;
  while (fed() > 0) {
    for (const auto& leased : claim_some(10)) {
      fail(leased, 400);
      refused.push_back(leased.id);
    }
    // As if the receiver had accepted other deliveries.
    session.update("UPDATE webhook_ejecuciones SET fallos = 0, fallos_desde = NULL");
  }
  BOOST_CHECK_EQUAL(refused.size(), 100U);
  ask(single);
  BOOST_CHECK_EQUAL(fed(), 0U);
  session.update(
      "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente' AND id <= ?",
      refused.at(2));
  for (const auto& leased : claim_some(10)) succeed(leased);
  BOOST_CHECK_EQUAL(fed(), 1U);
  BOOST_CHECK_EQUAL(fed(), 3U);
}

BOOST_AUTO_TEST_CASE(a_receiver_that_refuses_some_gets_the_others) {
  add_deliveries(9, "fallida", 0);
  ask(failed);
  BOOST_CHECK_EQUAL(fed(), 5U);
  for (const auto& leased : claim_some(5)) fail(leased, 400);
  BOOST_CHECK_EQUAL(fed(), 4U);
}

BOOST_AUTO_TEST_CASE(an_inactive_or_resting_webhook_gets_no_replays) {
  add_deliveries(9, "fallida", 0);
  ask(failed);
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK_EQUAL(fed(), 0U);
  enable_webhook(session, webhook.id, false);
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) VALUES (?, UTC_TIMESTAMP(3) + INTERVAL 1 "
      "HOUR)"
      " ON DUPLICATE KEY UPDATE descansa_hasta = VALUES(descansa_hasta)",
      webhook.id);
  BOOST_CHECK_EQUAL(fed(), 0U);
  session.update("UPDATE webhook_ejecuciones SET descansa_hasta = NULL");
  BOOST_CHECK_EQUAL(fed(), 5U);
  delete_webhook(session, {1}, webhook.id);
  BOOST_CHECK_EQUAL(feed().finished, 1U);
  BOOST_CHECK_EQUAL(list_replays(session, {}).back().replay.state, "cancelado");
}

BOOST_AUTO_TEST_CASE(a_request_for_another_entitys_webhook_is_not_believed) {
  const auto id = newest("fallida");
  ask(id);
  session.update("UPDATE reenvios SET entidad_id = 2");
  const auto walk = feed();
  BOOST_CHECK(walk.replayed == 0 && walk.finished == 1);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->state, "fallida");
}

BOOST_AUTO_TEST_CASE(a_delivery_in_flight_is_replayed_once_its_attempt_fails) {
  queue_one();
  fail(claim_one(), 500);
  const auto asked = ask(only().id);
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  const auto leased = claim_one();
  BOOST_CHECK_EQUAL(feed().finished, 0U);  // the delivery is being attempted
  fail(leased, 500);
  BOOST_CHECK_EQUAL(fed(), 1U);
  succeed(claim_one());
  const auto shown = progress(asked);
  BOOST_CHECK(shown.replay.state == "terminado" && shown.replayed == 1 && shown.delivered == 1);
}

BOOST_AUTO_TEST_CASE(a_delivery_received_before_its_replay_counts_as_replayed) {
  queue_one();
  fail(claim_one(), 400);
  const auto asked = ask(only().id);
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  session.update("UPDATE reenvios SET pedido_en = pedido_en - INTERVAL 1 SECOND");
  const auto leased = claim_one();
  add_deliveries(3, "fallida", 0);
  ask(failed);
  BOOST_CHECK_EQUAL(fed(), 3U);
  succeed(leased);
  BOOST_CHECK_EQUAL(fed(), 1U);
  const auto shown = progress(asked);
  BOOST_CHECK(shown.replay.state == "terminado" && shown.replayed == 1 && shown.delivered == 1);
  BOOST_CHECK_EQUAL(find_delivery(session, leased.id)->state, "entregada");
}

BOOST_AUTO_TEST_CASE(a_replay_with_an_expired_lease_is_repeated_and_counted_once) {
  const auto id = newest("entregada");
  const auto asked = ask(id);
  fed();
  const auto lost = claim_one();
  session.update("UPDATE entregas SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  BOOST_CHECK_EQUAL(shown(id), "entregada");
  const auto again = claim_one({202, 60s});
  BOOST_CHECK(again.id == id && again.replay);
  succeed(lost);  // changes nothing, because the lease was lost
  BOOST_CHECK_EQUAL(progress(asked).delivered, 0U);
  succeed(again);
  BOOST_CHECK_EQUAL(progress(asked).delivered, 1U);
}

BOOST_AUTO_TEST_CASE(a_single_replay_may_be_the_probe_of_a_failing_webhook) {
  queue_one();
  fail(claim_one(), 503);
  const auto id = newest("fallida");
  ask(id);
  BOOST_CHECK_EQUAL(fed(), 1U);  // although a delivery of the webhook waits
  fail(claim_one(), 503);
  std::vector<LeasedDelivery> probes;
  for (const std::uint64_t token : {303, 304}) {
    session.update("UPDATE webhook_ejecuciones SET adelantar_en = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
    ForwardWalk walk;
    bring_forward(session, {1, 15min}, walk);
    for (const auto& probe : claim_some(1, {token, 60s})) probes.push_back(probe);
  }
  const auto found = std::ranges::find(probes, id, &LeasedDelivery::id);
  BOOST_TEST_REQUIRE((found != probes.end()));
  BOOST_CHECK(found->replay && found->kind == delivery::AttemptKind::probe);
  succeed(*found);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->state, "entregada");
}

BOOST_AUTO_TEST_CASE(a_range_with_a_locked_delivery_is_replayed_later) {
  add_deliveries(3, "fallida", 0);
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas ORDER BY id LIMIT 1 FOR UPDATE");
  ask(failed);
  BOOST_CHECK_EQUAL(fed(), 0U);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(fed(), 3U);
}

BOOST_AUTO_TEST_CASE(a_cancelled_range_replays_no_more_deliveries) {
  add_deliveries(9, "fallida", 0);
  const auto asked = ask(failed);
  fed();
  BOOST_CHECK(cancel_replay(session, author, webhook.id, asked.replay.id));
  BOOST_CHECK(!cancel_replay(session, author, webhook.id, asked.replay.id));
  for (const auto& leased : claim_some(10)) succeed(leased);
  BOOST_CHECK_EQUAL(fed(), 0U);
  const auto shown = progress(asked);
  BOOST_CHECK(shown.replay.state == "cancelado" && shown.replayed == 5 && shown.delivered == 5);
  BOOST_CHECK(!find_replay(session, webhook.id.next(), asked.replay.id));
}

BOOST_AUTO_TEST_CASE(locked_replays_of_a_deleted_webhook_are_cancelled_later) {
  const auto first = ask(newest("fallida"));
  ask(newest("fallida"));
  delete_webhook(session, {1}, webhook.id);
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM reenvios FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE", first.replay.id);
  BOOST_CHECK(waits_for_no_lock(session, [&] { BOOST_CHECK_EQUAL(feed().finished, 1U); }));
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(feed().finished, 1U);
}

BOOST_AUTO_TEST_CASE(an_unreadable_replay_is_cancelled_and_delays_no_other) {
  const auto other = add_webhook(session, 1);
  const auto unreadable = ask(failed);
  session.update("UPDATE reenvios SET desde = NULL");
  BOOST_CHECK(ask_replay(session, author, other.id, failed, no_limit).result == done);
  const auto walk = feed();
  BOOST_CHECK(walk.webhooks == 2 && walk.finished == 2);
  BOOST_TEST_REQUIRE(walk.unreadable.size() == 1U);
  BOOST_CHECK_EQUAL(walk.unreadable.front().id, unreadable.replay.id);
  BOOST_CHECK_EQUAL(progress(unreadable).replay.state, "cancelado");
  BOOST_CHECK_EQUAL(feed().webhooks, 0U);
}

BOOST_AUTO_TEST_CASE(a_delivery_that_the_database_refuses_keeps_no_other_of_a_range_from_being_sent_again) {
  add_deliveries(7, "fallida", 0);
  session.execute(
      "CREATE TRIGGER refuse BEFORE UPDATE ON entregas FOR EACH ROW BEGIN IF NEW.id IN (1, 4) AND"
      " NEW.reenviada THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  const auto asked = ask(failed);
  const auto walk = feed();
  BOOST_CHECK(walk.replayed == 3 && walk.unreadable.empty());
  BOOST_CHECK_EQUAL(walk.refusal.substr(0, walk.refusal.find(':')), "delivery 4");
  for (const auto& leased : claim_some(10)) succeed(leased);
  BOOST_CHECK_EQUAL(fed(), 2U);
  for (const auto& leased : claim_some(10)) succeed(leased);
  fed();
  const auto shown = progress(asked);
  BOOST_CHECK(shown.replay.state == "terminado" && shown.replayed == 5);
  const auto single = ask_replay(session, author, webhook.id, 4, no_limit);
  BOOST_CHECK_EQUAL(feed().unreadable.size(), 1U);
  BOOST_CHECK_EQUAL(progress(single).replay.state, "cancelado");
}

BOOST_AUTO_TEST_CASE(a_replay_that_the_database_refuses_to_cancel_costs_no_other_its_turn) {
  const auto second = add_webhook(session, 1), third = add_webhook(session, 1);
  const auto stuck = ask(failed);
  ask(newest("fallida"));
  const auto broken = ask_replay(session, author, second.id, failed, no_limit);
  session.update("UPDATE reenvios SET desde = NULL WHERE id = ?", broken.replay.id);
  ask_replay(session, author, third.id, failed, no_limit);
  delete_webhook(session, {1}, webhook.id);
  session.execute("CREATE TRIGGER refuse BEFORE UPDATE ON reenvios FOR EACH ROW BEGIN IF NEW.id IN (" +
                  to_string(stuck.replay.id) + ", " + to_string(broken.replay.id) +
                  ") THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  ReplayWalk walk;
  BOOST_CHECK_NO_THROW(while (!walk.done) feed_replays(session, most_untried, walk));
  BOOST_CHECK(walk.webhooks == 3 && walk.finished == 2);
  // `unreadable` lists only replays that were cancelled; the database refused to cancel `broken`.
  BOOST_CHECK(walk.unreadable.empty());
  BOOST_TEST(!walk.refusal.empty());
}

BOOST_AUTO_TEST_CASE(a_locked_gap_keeps_only_the_replay_of_its_webhook_waiting) {
  if (!session.is_mariadb()) return;
  const auto second = add_webhook(session, 1);
  add_deliveries(1, "fallida", 0);
  ask(failed);
  ask_replay(session, author, second.id, failed, no_limit);
  auto other = lock_gap(database, webhook.id, "pendiente", due_now);
  ReplayWalk walk;
  BOOST_CHECK(waits_for_no_lock(
      session, [&] { BOOST_CHECK_NO_THROW(while (!walk.done) feed_replays(session, most_untried, walk)); }));
  BOOST_CHECK(walk.webhooks == 2 && walk.finished == 1 && walk.unreadable.empty());
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(fed(), 1U);
}

BOOST_AUTO_TEST_CASE(replays_of_long_ago_are_forgotten) {
  add_deliveries(3, "fallida", 0);
  ask(failed);
  fed();
  BOOST_CHECK(!forget_old_replay(session, std::chrono::days(30)));
  session.update("UPDATE reenvios SET terminado_en = terminado_en - INTERVAL 31 DAY");
  while (forget_old_replay(session, std::chrono::days(30))) {
  }
  BOOST_CHECK(list_replays(session, {}).empty());
  BOOST_CHECK(session.query("SELECT 1 FROM reenvios_entregas").empty());
}

BOOST_AUTO_TEST_SUITE_END()
