// The replay of one delivery: when it may be asked for, and how it ends.
#include <boost/test/unit_test.hpp>

#include "lib/store/maintenance/held.hpp"
#include "tests/store/replay_support.hpp"

using namespace store;
using namespace store::testing;
using namespace std::chrono_literals;
using enum ReplayAsked;

BOOST_FIXTURE_TEST_SUITE(replays, ReplayFixture)

BOOST_AUTO_TEST_CASE(a_failed_delivery_is_sent_again_and_counted) {
  const auto id = newest("fallida");
  const auto asked = ask(id);
  BOOST_CHECK(asked.result == done && asked.replay.state == "pendiente");
  BOOST_CHECK_EQUAL(fed(), 1U);
  BOOST_CHECK_EQUAL(progress(asked).replay.state, "terminado");
  const auto leased = claim_one();
  BOOST_CHECK(leased.id == id && leased.replay && leased.failures == 0);
  succeed(leased);
  const auto shown = progress(asked);
  BOOST_CHECK(shown.replayed == 1 && shown.delivered == 1 && shown.failed == 0);
  BOOST_CHECK_EQUAL(list_attempts(session, id).back().kind, "reenvio");
  BOOST_CHECK_EQUAL(list_audit(session, {}).back().action, "reenvio");
  BOOST_CHECK_EQUAL(feed().webhooks, 0U);
}

BOOST_AUTO_TEST_CASE(an_entity_sees_its_replays_newest_first) {
  const auto first = ask(newest("fallida"));
  fed();
  succeed(claim_one());
  const auto second = ask(failed);
  add_webhook(session, 2);
  const auto page = read_replay_page(session, 1, 1, {});
  BOOST_REQUIRE_EQUAL(page.replays.size(), 1U);
  BOOST_CHECK_EQUAL(page.replays[0].replay.id, second.replay.id);
  BOOST_CHECK(!page.replays[0].ended && !page.replays[0].delivery);
  BOOST_REQUIRE(page.next.has_value());
  const auto rest = read_replay_page(session, 1, 1, page.next);
  BOOST_REQUIRE_EQUAL(rest.replays.size(), 1U);
  const auto& oldest = rest.replays[0];
  BOOST_CHECK_EQUAL(oldest.replay.id, first.replay.id);
  BOOST_CHECK(oldest.ended && oldest.delivery && oldest.webhook == webhook.id);
  BOOST_CHECK(oldest.replayed == 1 && oldest.delivered == 1 && oldest.failed == 0);
  BOOST_CHECK(!rest.next);
  BOOST_CHECK(read_replay_page(session, 2, 1, {}).replays.empty());
}

BOOST_AUTO_TEST_CASE(a_delivery_has_one_pending_replay_at_a_time) {
  const auto id = newest("fallida");
  const auto first = ask(id);
  BOOST_CHECK_EQUAL(ask(id).replay.id, first.replay.id);
  fed();
  BOOST_CHECK_NE(ask(id).replay.id, first.replay.id);
}

BOOST_AUTO_TEST_CASE(a_refused_replay_has_a_reason) {
  const auto id = newest("fallida");
  BOOST_CHECK(ask(id.next()).result == not_found);
  BOOST_CHECK(ask_replay(session, {2}, add_webhook(session, 2).id, id, no_limit).result == not_found);
  BOOST_CHECK(ask(newest("cancelada")).result == ReplayAsked::cancelled);
  session.update(
      "UPDATE notificaciones_pendientes SET estado = 'cancelada' WHERE id ="
      " (SELECT notificacion_id FROM entregas WHERE id = ?)",
      id);
  BOOST_CHECK(ask(id).result == ReplayAsked::cancelled);
  queue_one();
  BOOST_CHECK(ask(claim_one().id).result == in_flight);
  BOOST_CHECK(ask(newest("retenida")).result == held);
  const auto other = newest("fallida");
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK(ask(other).result == inactive);
  BOOST_CHECK(ask(all).result == inactive);
}

BOOST_AUTO_TEST_CASE(a_replay_brings_a_waiting_retry_forward) {
  queue_one();
  const auto leased = claim_one();
  fail(leased, 500);
  BOOST_CHECK(nothing_due());
  ask(leased.id);
  BOOST_CHECK_EQUAL(fed(), 1U);
  BOOST_CHECK_EQUAL(claim_one().id, leased.id);
}

BOOST_AUTO_TEST_CASE(a_replay_that_fails_does_not_undo_a_delivery) {
  queue_one();
  const auto leased = claim_one();
  succeed(leased);
  const auto first = find_evidence(session, webhook.id, leased.id)->delivery.delivered;
  const auto asked = ask(leased.id);
  fed();
  BOOST_CHECK_EQUAL(shown(leased.id), "entregada");
  auto again = claim_one();
  fail(again, 503);
  BOOST_CHECK_EQUAL(shown(leased.id), "entregada");
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  again = claim_one();
  BOOST_CHECK(again.replay);
  fail(again, 503, true);
  const auto after = find_evidence(session, webhook.id, leased.id)->delivery;
  BOOST_CHECK(after.state == "entregada" && after.delivered == first && after.last_error.empty());
  BOOST_CHECK_EQUAL(only().state, "entregada");
  BOOST_CHECK(progress(asked).delivered == 0 && progress(asked).failed == 1);
}

BOOST_AUTO_TEST_CASE(a_delivered_delivery_held_too_long_stays_delivered) {
  const auto id = newest("entregada");
  ask(id);
  fed();
  session.update(
      "UPDATE entregas SET estado = 'retenida', proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 100 DAY");
  HeldWalk walk;
  while (!walk.done) give_up_held(session, std::chrono::days(90), walk);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->state, "entregada");
}

BOOST_AUTO_TEST_CASE(to_cancel_a_replay_does_not_undo_a_delivery) {
  const auto replayed = [&] {
    queue_one();
    const auto leased = claim_one();
    succeed(leased);
    ask(leased.id);
    BOOST_CHECK_EQUAL(fed(), 1U);
    fail(claim_one(), 503);  // leaves an error in the delivery's row
    return leased;
  };
  const auto make_due = [&] {
    session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE estado = 'pendiente'");
  };
  const auto stays = [&](const LeasedDelivery& leased) {
    const auto after = find_delivery(session, leased.id).value();
    BOOST_CHECK_EQUAL(after.state, "entregada");
    BOOST_CHECK_EQUAL(after.last_error, "");
    BOOST_CHECK_EQUAL(shown(leased.id), "entregada");
  };
  const auto discarded = replayed();
  enable_webhook(session, webhook.id, true);
  stays(discarded);
  const auto of_cancelled = replayed();
  cancel_notification(session, of_cancelled.notification);
  stays(of_cancelled);
  const auto claimed = replayed();
  session.update("UPDATE notificaciones_pendientes SET estado = 'cancelada' WHERE id = ?",
                 claimed.notification);
  make_due();
  BOOST_CHECK(claim_some(5).empty());
  stays(claimed);
  const auto foreign = replayed();
  session.update("UPDATE notificaciones_pendientes SET entidad_id = 2 WHERE id = ?", foreign.notification);
  make_due();
  BOOST_CHECK(claim_some(5).empty());
  stays(foreign);
  const auto of_deleted = replayed();
  delete_webhook(session, {1}, webhook.id);
  BOOST_CHECK_EQUAL(reconcile(session).cancelled, 1U);
  stays(of_deleted);
}

BOOST_AUTO_TEST_CASE(a_delivered_delivery_discarded_while_held_stays_delivered) {
  const auto id = newest("entregada");
  ask(id);
  fed();
  disable_webhook(session, webhook.id, disabled_by_operator);
  reconcile(session);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->state, "retenida");
  enable_webhook(session, webhook.id, true);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->state, "entregada");
}

BOOST_AUTO_TEST_SUITE_END()
