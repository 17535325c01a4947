// Attempts ahead of the schedule: which deliveries are brought forward, and how their attempts count.
#include "lib/store/deliveries/brought_forward.hpp"

#include <boost/test/unit_test.hpp>

#include "dispatcher/maintenance/maintenance.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/wait.hpp"

using namespace store;
using namespace store::testing;
using delivery::AttemptKind;
using platform::Milliseconds;
using namespace std::chrono_literals;

namespace {

constexpr FailurePolicy probing{Milliseconds(0), Milliseconds(900000)};
using Ids = std::vector<DeliveryId>;

struct ForwardFixture : DeliveryFixture {
  /// Queues a delivery and records a failed attempt; the retry is 10 hours away.
  LeasedDelivery fail_one() {
    queue_one();
    const auto leased = claim_one();
    auto result = failed_attempt(leased, 10h);
    result.failures = 1;
    record_results(session, {result}, probing);
    return leased;
  }
  /// Like fail_one(), with a Retry-After of an hour.
  DeliveryId ask_to_wait() {
    queue_one();
    auto result = failed_attempt(claim_one(), 10h);
    result.failures = 1;
    result.retry_after = 1h;
    record_results(session, {result}, probing);
    return result.id;
  }
  void succeed_one() {
    queue_one();
    record_results(session, {delivered(claim_one())}, probing);
  }
  /// The attempt ahead of the schedule fails.
  void fail_early(const LeasedDelivery& leased) {
    auto result = failed_attempt(leased, 0ms);
    result.wait.reset();
    result.failures = leased.failures;
    record_results(session, {result}, probing);
  }
  /// One walk, and the webhooks with deliveries that it has made due.
  std::vector<WebhookId> walk(unsigned most_due = 5, Milliseconds probe_interval = 15min) {
    walked = next_forward_walk(std::move(walked));
    while (!walked.done) bring_forward(session, {most_due, probe_interval}, walked);
    return walked.due;
  }
  /// The next walk visits webhooks of which nothing became due without a wait.
  void wait_over() {
    for (auto& [webhook, known] : walked.known) known.not_before = {};
  }
  Ids due() {
    Ids ids;
    for (const auto& row : session.query("SELECT id FROM entregas WHERE estado = 'pendiente' AND "
                                         "proximo_intento <= UTC_TIMESTAMP(3) ORDER BY id"))
      ids.push_back(row.integer("id"));
    return ids;
  }
  Ids forward(unsigned most_due = 5) { return walk(most_due), due(); }
  bool listed() {
    return !session.query("SELECT 1 FROM webhook_ejecuciones WHERE adelantar_en <= UTC_TIMESTAMP(3)").empty();
  }
  bool ended() {
    return session.query("SELECT 1 FROM webhook_ejecuciones WHERE adelantar_en IS NOT NULL").empty();
  }
  ForwardWalk walked;

  void recover() {
    session.update("UPDATE webhook_ejecuciones SET ultimo_error = '', adelantar_en = UTC_TIMESTAMP(3)");
  }
  void make_probe_due() {
    session.update("UPDATE webhook_ejecuciones SET adelantar_en = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  }
  /// Gives the delivery an event that only a newer release knows.
  void make_unknown(DeliveryId id) {
    session.execute("ALTER TABLE notificaciones_pendientes DROP CONSTRAINT evento_no_es_uno_de_los_11");
    session.update(
        "UPDATE entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id"
        " SET e.evento = 'evento.nuevo', n.evento = 'evento.nuevo' WHERE e.id = ?",
        id);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(brought_forward, ForwardFixture)

BOOST_AUTO_TEST_CASE(a_success_after_failures_begins_a_recovery_and_a_success_alone_does_not) {
  succeed_one();
  BOOST_TEST(ended());
  fail_one();
  BOOST_TEST((!listed() && !ended()));  // the probe is due in a quarter of an hour
  succeed_one();
  BOOST_TEST(listed());
  fail_one();
  BOOST_TEST(!listed());
}

BOOST_AUTO_TEST_CASE(a_success_and_a_failure_in_one_batch_count_in_their_order) {
  for (const bool success_last : {true, false}) {
    queue_one();
    queue_one();
    const auto leased = claim_some(2);
    auto failure = failed_attempt(leased[0], 10h);
    failure.failures = 1;
    auto results = std::vector{failure, delivered(leased[1])};
    if (!success_last) std::swap(results[0], results[1]);
    record_results(session, results, probing);
    BOOST_TEST(listed() == success_last);
  }
}

BOOST_AUTO_TEST_CASE(a_recovery_takes_the_oldest_first_a_few_at_a_time_and_once_per_step) {
  const Ids waiting{fail_one().id, fail_one().id, fail_one().id};
  recover();
  BOOST_TEST((walk(2) == std::vector{webhook.id}));
  BOOST_TEST(due() == (Ids{waiting[0], waiting[1]}));
  BOOST_TEST(walk(2).empty());  // two are due already
  BOOST_TEST(due() == (Ids{waiting[0], waiting[1]}));
  for (const auto& leased : claim_some(2)) {
    BOOST_TEST((leased.kind == AttemptKind::early));
    record_results(session, {delivered(leased)}, probing);
  }
  wait_over();
  BOOST_TEST(forward(2) == Ids{waiting[2]});
  BOOST_TEST(!ended());
  BOOST_TEST(walk(2).empty());
  BOOST_TEST(ended());
}

BOOST_AUTO_TEST_CASE(a_webhook_of_which_nothing_becomes_due_is_visited_less_often) {
  fail_one();
  recover();
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas FOR UPDATE");
  Milliseconds before{};
  for (int i = 0; i < 12; ++i) {
    BOOST_TEST(walk().empty());
    const auto wait = walked.known.at(webhook.id).wait;
    BOOST_TEST((wait > before || wait == 5s));
    before = wait;
    wait_over();
  }
  BOOST_TEST((before == 5s));
  other.execute("ROLLBACK");
  BOOST_TEST(walk().size() == 1U);
  BOOST_TEST(walked.known.at(webhook.id).wait.count() == 0);
}

BOOST_AUTO_TEST_CASE(an_attempt_that_is_due_by_the_schedule_stays_scheduled) {
  const Ids waiting{fail_one().id, fail_one().id};
  recover();
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE id = ?",
                 waiting[0]);
  BOOST_TEST(forward(2) == waiting);
  const auto leased = claim_some(2);
  BOOST_TEST((leased.at(0).kind == AttemptKind::scheduled && leased.at(1).kind == AttemptKind::early));
}

// For example because the webhook was paused, or held for a while.
BOOST_AUTO_TEST_CASE(an_attempt_made_after_its_scheduled_time_is_one_of_the_schedule) {
  fail_one();
  recover();
  walk();
  session.update("UPDATE entregas SET prevista = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_TEST((claim_one().kind == AttemptKind::scheduled));
}

BOOST_AUTO_TEST_CASE(a_failed_early_attempt_leaves_the_schedule_as_it_was) {
  const auto id = fail_one().id;
  const auto before = find_delivery(session, id)->next_attempt;
  recover();
  BOOST_TEST(forward() == Ids{id});
  const auto leased = claim_one();
  BOOST_CHECK(leased.kind == AttemptKind::early && leased.failures == 1U);
  fail_early(leased);
  const auto after = find_delivery(session, id).value();
  BOOST_CHECK(after.next_attempt == before);
  BOOST_CHECK_EQUAL(after.attempts, 2);
  BOOST_CHECK_EQUAL(list_attempts(session, id).back().kind, "adelantado");
  recover();
  BOOST_TEST(forward().empty());
  // The next step of the schedule allows another early attempt.
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  const auto again = claim_one();
  BOOST_TEST((again.kind == AttemptKind::scheduled));
  auto step = failed_attempt(again, 10h);
  step.failures = 2;
  record_results(session, {step}, probing);
  recover();
  BOOST_TEST(forward() == Ids{id});
}

BOOST_AUTO_TEST_CASE(a_released_or_expired_claim_stays_brought_forward) {
  const auto id = fail_one().id;
  const auto before = find_delivery(session, id)->next_attempt;
  recover();
  walk();
  BOOST_TEST(release_leases(session, claim_some(1)).empty());
  BOOST_TEST(due() == Ids{id});
  BOOST_TEST((claim_one().kind == AttemptKind::early));
  session.update("UPDATE entregas SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  const auto leased = claim_one();
  BOOST_TEST((leased.kind == AttemptKind::early));
  fail_early(leased);
  BOOST_CHECK(find_delivery(session, id)->next_attempt == before);
}

BOOST_AUTO_TEST_CASE(an_attempt_that_does_not_count_leaves_all_but_the_error) {
  const auto id = fail_one().id;
  const auto execution = find_webhook(session, webhook.id)->last_execution;
  recover();
  walk();
  auto result = failed_attempt(claim_one(), 0ms);
  result.wait.reset();
  result.counted = false;
  result.failures = 1;
  result.error = "El servicio se retrasa";
  record_results(session, {result}, probing);
  const auto shown = find_delivery(session, id).value();
  BOOST_CHECK(shown.attempts == 1 && shown.state == "pendiente" &&
              shown.last_error == "El servicio se retrasa");
  BOOST_CHECK(find_webhook(session, webhook.id)->last_execution == execution);
  BOOST_CHECK_EQUAL(list_attempts(session, id).size(), 1U);
  BOOST_TEST(due() == Ids{id});  // it is tried again
  BOOST_TEST((claim_one().kind == AttemptKind::early));
}

BOOST_AUTO_TEST_CASE(the_recovery_waits_for_the_retry_after_of_a_delivery) {
  const auto asked = ask_to_wait();
  const auto free = fail_one().id;
  recover();
  BOOST_TEST(forward() == Ids{free});
  const auto row = session.query(
      "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(3), proximo_intento) AS n FROM entregas WHERE id = ?",
      asked);
  BOOST_TEST((row.at(0).integer("n") == 59));
}

BOOST_AUTO_TEST_CASE(a_retry_after_takes_no_room_from_the_others) {
  ask_to_wait();
  const auto free = fail_one().id;
  recover();
  BOOST_TEST(forward(1).empty());
  BOOST_TEST(forward(1) == Ids{free});
}

BOOST_AUTO_TEST_CASE(a_probe_takes_the_longest_untried_delivery_once_per_interval) {
  const Ids waiting{fail_one().id, fail_one().id};
  session.update("UPDATE intentos_entrega SET inicio = inicio - INTERVAL 1 HOUR WHERE entrega_id = ?",
                 waiting[1]);
  make_probe_due();
  BOOST_TEST(forward() == Ids{waiting[1]});
  BOOST_TEST(!listed());
  make_probe_due();
  BOOST_TEST(forward() == Ids{waiting[1]});  // no second one while the first is due
  const auto leased = claim_one();
  BOOST_TEST((leased.kind == AttemptKind::probe));
  fail_early(leased);
  make_probe_due();
  BOOST_TEST(forward() == Ids{waiting[0]});
}

BOOST_AUTO_TEST_CASE(two_dispatchers_make_one_probe_due) {
  fail_one();
  fail_one();
  make_probe_due();
  auto other = database.connect();
  ForwardWalk here;
  ForwardWalk there;
  bring_forward(session, {5, 15min}, here);
  bring_forward(other, {5, 15min}, there);
  BOOST_TEST(due().size() == 1U);
}

BOOST_AUTO_TEST_CASE(without_an_interval_nothing_is_probed) {
  fail_one();
  make_probe_due();
  BOOST_TEST(walk(5, 0ms).empty());
  BOOST_TEST(ended());
}

BOOST_AUTO_TEST_CASE(an_event_of_a_newer_version_takes_no_probe_from_the_others) {
  const Ids waiting{fail_one().id, fail_one().id};
  make_unknown(waiting[0]);
  session.update("UPDATE intentos_entrega SET inicio = inicio - INTERVAL 1 HOUR WHERE entrega_id = ?",
                 waiting[0]);
  make_probe_due();
  BOOST_TEST(forward() == Ids{waiting[1]});
}

BOOST_AUTO_TEST_CASE(what_has_expired_takes_no_probe_from_the_others) {
  const Ids waiting{fail_one().id, fail_one().id};
  session.update(
      "UPDATE notificaciones_pendientes n JOIN entregas e ON e.notificacion_id = n.id"
      " SET n.caduca_en = UTC_TIMESTAMP(3) WHERE e.id = ?",
      waiting[0]);
  session.update("UPDATE intentos_entrega SET inicio = inicio - INTERVAL 1 HOUR WHERE entrega_id = ?",
                 waiting[0]);
  make_probe_due();
  BOOST_TEST(forward() == Ids{waiting[1]});
}

BOOST_AUTO_TEST_CASE(what_is_called_off_takes_no_probe_from_the_others) {
  const Ids waiting{fail_one().id, fail_one().id};
  session.update(
      "UPDATE notificaciones_pendientes n JOIN entregas e ON e.notificacion_id = n.id"
      " SET n.estado = 'cancelada', n.relleno = NULL WHERE e.id = ?",
      waiting[0]);
  session.update("UPDATE intentos_entrega SET inicio = inicio - INTERVAL 1 HOUR WHERE entrega_id = ?",
                 waiting[0]);
  make_probe_due();
  BOOST_TEST(forward() == Ids{waiting[1]});
}

// A newer release claims it.
BOOST_AUTO_TEST_CASE(a_delivery_with_an_unknown_event_becomes_due_when_no_other_waits) {
  const auto id = fail_one().id;
  make_unknown(id);
  make_probe_due();
  BOOST_TEST(forward() == Ids{id});
  BOOST_TEST(claim_some(1).empty());
}

BOOST_AUTO_TEST_CASE(what_this_release_cannot_read_keeps_no_other_from_its_recovery) {
  const Ids waiting{fail_one().id, fail_one().id};
  make_unknown(waiting[0]);
  recover();
  BOOST_TEST(forward(1) == Ids{waiting[0]});
  BOOST_TEST(claim_some(1).empty());
  session.update("UPDATE entregas SET proximo_intento = proximo_intento - INTERVAL 2 MINUTE WHERE id = ?",
                 waiting[0]);
  wait_over();
  BOOST_TEST(forward(1) == waiting);
}

BOOST_AUTO_TEST_CASE(nothing_is_probed_of_a_webhook_of_which_nothing_waits) {
  fail_one();
  session.update("UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3)");
  make_probe_due();
  BOOST_TEST(walk().empty());
  BOOST_TEST(ended());
}

BOOST_AUTO_TEST_CASE(nothing_is_brought_forward_of_a_webhook_that_may_not_receive_or_rests) {
  fail_one();
  recover();
  session.update("UPDATE webhook_ejecuciones SET descansa_hasta = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR");
  BOOST_TEST(forward().empty());
  BOOST_TEST((!listed() && !ended()));
  recover();
  session.update("UPDATE webhooks SET activo = FALSE, motivo = 'entidad'");
  BOOST_TEST(forward().empty());
  BOOST_TEST(ended());
}

BOOST_AUTO_TEST_CASE(failed_probes_count_for_nothing_and_the_first_and_the_last_are_kept) {
  const auto id = fail_one().id;
  for (int i = 0; i < 4; ++i) {
    make_probe_due();
    walk();
    fail_early(claim_one());
  }
  const auto attempts = list_attempts(session, id);
  BOOST_REQUIRE_EQUAL(attempts.size(), 3U);
  BOOST_CHECK_EQUAL(attempts[1].number, 2);
  BOOST_CHECK_EQUAL(attempts[2].number, 5);
  BOOST_CHECK_EQUAL(*attempts[2].probes, 4);
  BOOST_CHECK_EQUAL(session.query("SELECT fallos FROM webhook_ejecuciones").at(0).integer("fallos"), 1);
  BOOST_CHECK_EQUAL(find_delivery(session, id)->attempts, 5);
}

BOOST_AUTO_TEST_CASE(locked_rows_are_left_for_a_later_walk) {
  const auto id = fail_one().id;
  recover();
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas WHERE id = ? FOR UPDATE", id);
  BOOST_TEST(forward().empty());
  BOOST_TEST(listed());
  other.execute("ROLLBACK");
  make_probe_due();
  session.update("UPDATE webhook_ejecuciones SET ultimo_error = 'x'");
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhook_ejecuciones FOR UPDATE");
  wait_over();
  BOOST_TEST(forward().empty());  // a probe and the time of the next one go together
  other.execute("ROLLBACK");
  wait_over();
  BOOST_TEST(forward() == Ids{id});
}

BOOST_AUTO_TEST_CASE(a_webhook_whose_rows_the_database_refuses_stops_no_other) {
  const auto other = add_webhook(session, 2);
  std::map<WebhookId, DeliveryId> waiting;
  for (const EntityId entity : {1, 2}) insert_notification(session, entity);
  fan_out(session);
  for (const auto id : {webhook.id, other.id}) {
    auto result = failed_attempt(claim(session, {{id, 1}}, long_lease).leased.deliveries.at(0), 10h);
    result.failures = 1;
    record_results(session, {result}, probing);
    waiting[id] = result.id;
  }
  for (const auto* table : {"entregas", "webhook_ejecuciones"}) {
    make_probe_due();
    session.update(
        "UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 5 HOUR, prevista = NULL");
    session.execute(std::string("CREATE TRIGGER refuse BEFORE UPDATE ON ") + table +
                    " FOR EACH ROW BEGIN IF NEW.webhook_id = " + to_string(webhook.id) +
                    " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF; END");
    wait_over();
    BOOST_TEST((walk() == std::vector{other.id}), table);
    BOOST_TEST(due() == Ids{waiting[other.id]}, table);
    BOOST_TEST(!walked.refusal.empty(), table);
    BOOST_TEST((walked.known.at(webhook.id).wait == 5s), table);
    BOOST_TEST(listed(), table);  // the probe of the refused one stays due
    session.execute("DROP TRIGGER refuse");
  }
}

BOOST_AUTO_TEST_CASE(a_delivery_that_the_database_refuses_stops_no_other_of_its_webhook) {
  const Ids waiting{fail_one().id, fail_one().id, fail_one().id};
  recover();
  session.execute("CREATE TRIGGER refuse BEFORE UPDATE ON entregas FOR EACH ROW BEGIN IF NEW.id = " +
                  to_string(waiting[0]) +
                  " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF; END");
  BOOST_TEST(forward() == (Ids{waiting[1], waiting[2]}));
  BOOST_TEST(walked.refusal.find("delivery " + to_string(waiting[0])) == 0U);
  BOOST_TEST(walk().empty());
  BOOST_TEST((walked.known.at(webhook.id).wait == 5s));
  BOOST_TEST(!ended());
}

BOOST_AUTO_TEST_CASE(a_probe_of_which_the_delivery_is_locked_stays_due) {
  fail_one();
  make_probe_due();
  auto other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM entregas FOR UPDATE");
  BOOST_TEST(walk().empty());
  BOOST_TEST(listed());
  other.execute("ROLLBACK");
  wait_over();
  BOOST_TEST(walk().size() == 1U);
  BOOST_TEST(!listed());
}

// A release up to 0.2.0 claims a delivery without a look at `prevista`.
BOOST_AUTO_TEST_CASE(what_an_older_release_has_tried_is_brought_forward_from_its_present_schedule) {
  const auto id = fail_one().id;
  for (const auto* kind : {"programado", "sondeo", "adelantado"}) {
    recover();
    wait_over();
    walk();
    session.update(
        "UPDATE entregas SET tipo = ?, paso = 2, adelantada = FALSE,"
        " proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 20 HOUR",
        kind);
    const auto before = find_delivery(session, id)->next_attempt;
    recover();
    wait_over();
    BOOST_TEST(forward() == Ids{id}, kind);
    fail_early(claim_one());
    BOOST_CHECK(find_delivery(session, id)->next_attempt == before);
    session.update("UPDATE entregas SET adelantada = FALSE");
  }
}

BOOST_AUTO_TEST_CASE(an_expired_early_claim_of_an_older_release_keeps_its_schedule) {
  const auto id = fail_one().id;
  const auto before = find_delivery(session, id)->next_attempt;
  session.update(
      "UPDATE entregas SET estado = 'en_curso', tipo = 'adelantado', arriendo = 7,"
      " arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND");
  BOOST_CHECK_EQUAL(recover_expired_leases(session, 10).count, 1U);
  BOOST_CHECK(find_delivery(session, id)->next_attempt == before);
}

// The dispatcher's loop then knows that these webhooks have something to claim.
BOOST_AUTO_TEST_CASE(maintenance_names_each_webhook_with_deliveries_due_once) {
  fail_one();
  recover();
  const dispatcher::Metrics metrics;
  dispatcher::Maintenance maintenance({}, platform::Log(), metrics);
  std::vector<WebhookId> named;
  wait::until(
      [&] {
        maintenance.run(session, platform::monotonic_now(), true);
        std::ranges::copy(maintenance.take_due(), std::back_inserter(named));
        return ended();
      },
      "the recovery to end");
  BOOST_TEST((named == std::vector{webhook.id}));
}

BOOST_AUTO_TEST_CASE(a_large_crowd_of_recovered_webhooks_is_walked_in_steps) {
  std::vector<WebhookId> hooks;
  for (int entity = 2; entity < 72; ++entity) hooks.push_back(add_webhook(session, entity).id);
  for (int entity = 2; entity < 72; ++entity) insert_notification(session, entity);
  fan_out(session);
  for (const auto id : hooks) {
    auto result = failed_attempt(claim(session, {{id, 1}}, long_lease).leased.deliveries.at(0), 10h);
    result.failures = 1;
    record_results(session, {result}, probing);
  }
  recover();
  BOOST_TEST(walk().size() == 70U);
  BOOST_TEST(walked.webhooks == 70U);
  BOOST_TEST(due().size() == 70U);
}

BOOST_AUTO_TEST_SUITE_END()
