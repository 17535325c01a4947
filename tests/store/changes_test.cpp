// Changes that an entity makes to its webhook, and what the dispatcher does with them.
#include "lib/store/webhooks/changes.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/store/deliveries/executions.hpp"
#include "lib/store/deliveries/former_urls.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/secret_change.hpp"
#include "tests/store/delivery_support.hpp"
#include "tests/store/quota_support.hpp"

using namespace store;
using namespace store::testing;
using platform::Milliseconds;

namespace {

constexpr const char* other_url = "https://otro.example.org/";

bool any(const WebhookDetail&) { return true; }

struct ChangeFixture : DeliveryFixture {
  WebhookChanged change(const WebhookChange& wanted, EntityId entity = 1) {
    return change_webhook(session, {entity, 7}, webhook.id, wanted, any).result;
  }
  WebhookDetail now() { return find_detail(session, 1, webhook.id).value(); }
  ChangeWalk apply() {
    ChangeWalk walk;
    while (!walk.done) apply_changes(session, walk);
    return walk;
  }
  std::vector<AuditEntry> audit() {
    ListFilter filter;
    filter.webhook = webhook.id;
    return list_audit(session, filter);
  }
  std::int64_t number(const std::string& sql) { return session.query(sql).at(0).integer("n"); }
  void fail_one() {
    record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))}, {Milliseconds(0)});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(webhook_changes, ChangeFixture)

BOOST_AUTO_TEST_CASE(a_change_of_the_url_keeps_the_event_of_a_newer_version) {
  session.execute("UPDATE webhooks SET eventos = 'evaluacion.abierta'");
  session.execute("ALTER TABLE webhooks MODIFY eventos SET('evento.nuevo', 'evaluacion.abierta') NOT NULL");
  session.execute("UPDATE webhooks SET eventos = 'evento.nuevo,evaluacion.abierta'");
  const auto has_new_event = [&] {
    return number("SELECT FIND_IN_SET('evento.nuevo', eventos) > 0 AS n FROM webhooks") == 1;
  };
  BOOST_CHECK(change({.url = other_url}) == WebhookChanged::done);
  BOOST_CHECK(has_new_event());
  BOOST_CHECK(change({.active = false}) == WebhookChanged::done);
  BOOST_CHECK(has_new_event());
  // This release knows none of the webhook's events. If it wrote back the events that it knows, the empty set
  // would violate a CHECK.
  session.execute("UPDATE webhooks SET eventos = 'evento.nuevo'");
  BOOST_CHECK(change({.active = true}) == WebhookChanged::done);
  BOOST_CHECK(has_new_event());
}

BOOST_AUTO_TEST_CASE(a_change_is_whole_and_on_record) {
  webhook::EventSet events;
  events.insert(webhook::Event::documento_disponible);
  BOOST_CHECK(!now().modified);
  BOOST_CHECK(change({.url = other_url, .events = events, .active = false}) == WebhookChanged::done);
  const auto changed = now();
  BOOST_CHECK_EQUAL(changed.webhook.url, other_url);
  BOOST_CHECK(changed.webhook.events == events);
  BOOST_CHECK(!changed.webhook.active && changed.webhook.inactive_reason == "entidad" && changed.modified);
  const auto entries = audit();
  BOOST_REQUIRE_EQUAL(entries.size(), 2U);  // the registration and the change
  BOOST_CHECK_EQUAL(entries[0].action, "alta");
  BOOST_CHECK(entries[0].detail.find(R"("eventos":["evaluacion.abierta",)") != std::string::npos);
  BOOST_CHECK_EQUAL(entries[1].action, "cambio");
  BOOST_CHECK(entries[1].token == 7 && entries[1].entity == 1);
  BOOST_CHECK(entries[1].detail.find(other_url) != std::string::npos &&
              entries[1].detail.find(webhook.url) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_change_has_at_most_1_kib_in_the_audit) {
  const auto url = [](char last) { return "https://a.example.org/" + std::string(1900, 'a') + last; };
  webhook::EventSet events;
  for (const auto event : webhook::all_events()) events.insert(event);
  change({.url = url('a'), .events = events, .active = false});
  change({.url = url('b'), .events = webhook::EventSet::from_joined("documento.disponible"), .active = true});
  change({.url = url('c')});
  change({.url = url('b')});
  change({.url = url('d')});  // another change, which the cut URL shows
  const auto entries = audit();
  BOOST_CHECK_EQUAL(entries.size(), 6U);
  for (const auto& entry : entries) BOOST_TEST(entry.detail.size() <= 1024U, entry.detail);
}

BOOST_AUTO_TEST_CASE(a_change_to_the_same_values_writes_nothing) {
  BOOST_CHECK(change({}) == WebhookChanged::done);
  BOOST_CHECK(change({.url = webhook.url, .active = true}) == WebhookChanged::done);
  BOOST_CHECK(!now().modified);
  BOOST_CHECK_EQUAL(audit().size(), 1U);
  BOOST_CHECK_EQUAL(number("SELECT COUNT(*) AS n FROM cambios_webhook"), 0);
}

BOOST_AUTO_TEST_CASE(a_foreign_or_deleted_webhook_cannot_be_changed) {
  BOOST_CHECK(change({.url = other_url}, 2) == WebhookChanged::not_found);
  BOOST_CHECK(!find_detail(session, 2, webhook.id));
  delete_webhook(session, {1, 7}, webhook.id);
  BOOST_CHECK(change({.url = other_url}) == WebhookChanged::not_found);
  BOOST_CHECK_EQUAL(audit().back().action, "baja");
}

BOOST_AUTO_TEST_CASE(the_inactive_reason_decides_if_the_entity_may_activate) {
  for (const auto reason : {disabled_by_gone, disabled_by_failures}) {
    disable_webhook(session, webhook.id, reason);
    BOOST_CHECK(change({.active = false}) == WebhookChanged::done);
    BOOST_CHECK(now().webhook.inactive_reason == reason);  // the first reason stays
    BOOST_CHECK(change({.active = true}) == WebhookChanged::done);
    BOOST_CHECK(now().webhook.active);
    BOOST_CHECK_EQUAL(number("SELECT COUNT(desactivado_en) AS n FROM webhooks"), 0);
  }
  change({.active = false});
  disable_webhook(session, webhook.id, disabled_by_operator);
  BOOST_CHECK(now().webhook.inactive_reason == "operador");
  BOOST_CHECK(change({.url = other_url, .active = true}) == WebhookChanged::operator_disabled);
  BOOST_CHECK_EQUAL(now().webhook.url, webhook.url);
  BOOST_CHECK(change({.url = other_url}) == WebhookChanged::done);
}

BOOST_AUTO_TEST_CASE(of_two_changes_of_the_same_version_one_is_refused) {
  const auto seen = version_of(now());
  const auto as_seen = [&](const WebhookDetail& detail) { return version_of(detail) == seen; };
  const auto change_once = [&](const char* url) {
    return change_webhook(session, {1}, webhook.id, {.url = url}, as_seen).result;
  };
  BOOST_CHECK(change_once(other_url) == WebhookChanged::done);
  BOOST_CHECK(change_once("https://tercero.example.org/") == WebhookChanged::precondition_failed);
  BOOST_CHECK_EQUAL(now().webhook.url, other_url);
}

BOOST_AUTO_TEST_CASE(a_change_tells_what_it_made_of_the_webhook) {
  const auto changed = change_webhook(session, {1}, webhook.id, {.url = other_url}, any);
  BOOST_CHECK_EQUAL(changed.now.value().webhook.url, other_url);
  BOOST_CHECK_EQUAL(version_of(*changed.now), version_of(now()));
  BOOST_CHECK(!changed.streak);
  queue_one();
  apply();
  fail_one();
  const auto same =
      change_webhook(session, {1}, webhook.id, {}, any, {.disable_after = std::chrono::days(5)});
  BOOST_CHECK(same.result == WebhookChanged::done && same.streak);
  BOOST_CHECK(!change_webhook(session, {2}, webhook.id, {.url = other_url}, any).now);
}

BOOST_AUTO_TEST_CASE(the_version_is_of_the_configuration_and_the_secret) {
  const auto first = version_of(now());
  BOOST_CHECK_EQUAL(version_of(now()), first);
  // Sets the same time after each change, as if all changes came within one millisecond.
  const auto version_with = [&](const std::string& secret) {
    change_secret(session, {1}, webhook.id, {secret, std::chrono::seconds(0)}, keys());
    session.update("UPDATE webhooks SET fecha_modificacion = '2026-01-01 00:00:00.001'");
    return version_of(now());
  };
  const auto one = version_with("uno");
  BOOST_CHECK(one != first && version_with("dos") != one);
  BOOST_CHECK_EQUAL(version_with("uno"), one);
}

BOOST_AUTO_TEST_CASE(a_webhook_of_an_unexpected_version_is_not_deleted) {
  const auto expected = [](bool yes) { return [yes](const WebhookDetail&) { return yes; }; };
  BOOST_CHECK(delete_expected_webhook(session, {1, 7}, webhook.id, expected(false)) ==
              WebhookChanged::precondition_failed);
  BOOST_CHECK_EQUAL(now().webhook.id, webhook.id);
  BOOST_CHECK(delete_expected_webhook(session, {2}, webhook.id, expected(true)) == WebhookChanged::not_found);
  BOOST_CHECK(delete_expected_webhook(session, {1, 7}, webhook.id, expected(true)) == WebhookChanged::done);
  BOOST_CHECK(!find_detail(session, 1, webhook.id));
  BOOST_CHECK_EQUAL(audit().back().action, "baja");
  BOOST_CHECK(delete_expected_webhook(session, {1}, webhook.id, expected(true)) == WebhookChanged::not_found);
}

/// By activating an active webhook, its entity says that the receiver is corrected.
BOOST_AUTO_TEST_CASE(activating_an_active_webhook_ends_its_failure_streak) {
  queue_one();
  fail_one();
  const auto version = version_of(now());
  BOOST_CHECK(change({.active = true}) == WebhookChanged::done);
  BOOST_CHECK(!find_failure_streak(session, webhook.id, std::chrono::days(5)));
  BOOST_CHECK_EQUAL(version_of(now()), version);
  BOOST_CHECK(audit().back().detail.starts_with(R"({"fallaDesde":{"antes":"20)") &&
              audit().back().detail.ends_with(R"(,"ahora":null}})"));
  const auto walk = apply();
  BOOST_CHECK(walk.applied == 1 && walk.hastened == 0);
  BOOST_CHECK_EQUAL(number("SELECT fallos AS n FROM webhook_ejecuciones"), 0);
  const auto entries = audit().size();
  BOOST_CHECK(change({.active = true}) == WebhookChanged::done);
  BOOST_CHECK_EQUAL(audit().size(), entries);  // there is no streak to end
}

BOOST_AUTO_TEST_CASE(a_reactivated_failing_webhook_is_probed_at_once) {
  queue_one();
  record_results(session, {failed_attempt(claim_one(), Milliseconds(3600000))},
                 {Milliseconds(0), Milliseconds(3600000)});
  const auto early = [&] {
    return number("SELECT COUNT(*) AS n FROM webhook_ejecuciones WHERE adelantar_en <= UTC_TIMESTAMP(3)");
  };
  BOOST_CHECK_EQUAL(early(), 0);  // the probe is due in an hour
  change({.active = false});
  change({.active = true});
  apply();
  BOOST_CHECK_EQUAL(early(), 1);
}

BOOST_AUTO_TEST_CASE(a_change_counts_as_a_registration) {
  const auto change_limited = [&](const std::string& url) {
    return change_webhook(session, {1}, webhook.id, {.url = url}, any, {.max_per_hour = 2}).result;
  };
  change_limited("https://a.example.org/");
  change_limited("https://b.example.org/");
  BOOST_CHECK(change_limited("https://b.example.org/") == WebhookChanged::done);
  BOOST_CHECK_EXCEPTION(change_limited("https://c.example.org/"), OverQuota, is_of(Quota::changes));
  BOOST_CHECK_EXCEPTION(change_webhook(session, {1}, webhook.id, {.active = false}, any, {.max_per_hour = 2}),
                        OverQuota, is_of(Quota::changes));
  BOOST_CHECK_EQUAL(now().webhook.url, "https://b.example.org/");
}

BOOST_AUTO_TEST_CASE(with_another_url_what_waits_is_due_and_failures_are_forgotten) {
  queue_one();
  fail_one();
  session.update("UPDATE entregas SET no_antes = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR");
  session.update("UPDATE webhook_ejecuciones SET descansa_hasta = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR");
  BOOST_CHECK(find_failure_streak(session, webhook.id, std::chrono::days(5)));
  change({.url = other_url});
  BOOST_CHECK(!find_failure_streak(session, webhook.id, std::chrono::days(5)));  // at once, before apply()
  const auto walk = apply();
  BOOST_CHECK(walk.applied == 1 && walk.hastened == 1 && walk.unfinished == 0);
  const auto again = claim_one();
  BOOST_CHECK(again.failures == 0 && again.attempts == 1);
  BOOST_CHECK_EQUAL(number("SELECT fallos AS n FROM webhook_ejecuciones"), 0);
  BOOST_CHECK_EQUAL(apply().applied, 0U);
}

BOOST_AUTO_TEST_CASE(an_answer_of_the_former_url_does_not_change_the_webhook) {
  for (const bool applied : {false, true}) {
    for (const auto kind : {delivery::AttemptKind::scheduled, delivery::AttemptKind::probe}) {
      queue_one();
      auto leased = claim_one();
      leased.kind = kind;
      if (kind == delivery::AttemptKind::probe)
        session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, paso = 3");
      auto result = failed_attempt(leased, Milliseconds(3600000));
      result.url = now().webhook.url;
      result.state = DeliveryState::failed;
      result.gone = result.one_at_a_time = true;
      result.rest = Milliseconds(3600000);
      change({.url = result.url + "x"});
      if (applied) apply();
      const auto summary = record_results(session, {result}, {Milliseconds(1), Milliseconds(1)});
      BOOST_CHECK(summary.former_url.contains({leased.id, leased.lease}) && summary.deactivated.empty());
      BOOST_CHECK(now().webhook.active && now().webhook.last_error.empty());
      BOOST_CHECK_EQUAL(number("SELECT COALESCE(SUM(fallos + sondeo), 0) AS n FROM webhook_ejecuciones"), 0);
      BOOST_CHECK_EQUAL(load_receiving(session, {webhook.id}).at(0).rest.count(), 0);
      const auto again = claim_one();  // the delivery is due at once
      BOOST_CHECK(again.id == leased.id && again.failures == 0 && again.attempts == 1);
      record_results(session, {delivered(again)}, {Milliseconds(1)});
      BOOST_CHECK_EQUAL(list_attempts(session, leased.id).size(), 2U);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_answer_of_the_unchanged_url_counts_after_reactivation) {
  queue_one();
  auto result = failed_attempt(claim_one(), Milliseconds(3600000));
  result.url = webhook.url;
  change({.active = false});
  change({.active = true});
  apply();
  BOOST_CHECK(record_results(session, {result}, {Milliseconds(1)}).former_url.empty());
  BOOST_CHECK_EQUAL(number("SELECT fallos AS n FROM webhook_ejecuciones"), 1);
  BOOST_CHECK(nothing_due());
  session.update("UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3)");
  auto gone = failed_attempt(claim_one(), Milliseconds(3600000));
  gone.url = webhook.url;
  gone.gone = true;
  BOOST_CHECK_EQUAL(record_results(session, {gone}, {Milliseconds(1)}).deactivated.size(), 1U);
}

/// Another session changes the URL. It commits, perhaps on another node, only after record_results has
/// compared the result with the former URL.
BOOST_AUTO_TEST_CASE(a_change_applies_to_results_recorded_before_its_commit) {
  queue_one();
  auto result = failed_attempt(claim_one(), Milliseconds(3600000));
  result.url = webhook.url;
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.update("UPDATE webhooks SET url = ? WHERE id = ?", other_url, webhook.id);
  other.update("INSERT INTO cambios_webhook (webhook_id, adelantar) VALUES (?, TRUE)", webhook.id);
  BOOST_CHECK(record_results(session, {result}, {Milliseconds(1)}).locked.empty());
  other.execute("COMMIT");
  BOOST_CHECK_EQUAL(apply().hastened, 1U);
  BOOST_CHECK_EQUAL(claim_one().failures, 0U);
  BOOST_CHECK_EQUAL(number("SELECT fallos AS n FROM webhook_ejecuciones"), 0);
}

/// The webhook has no row of webhook_ejecuciones that judge_urls could lock, so judge_urls inserts one.
BOOST_AUTO_TEST_CASE(a_change_during_the_record_of_a_first_failure_ends_the_rest_that_is_recorded) {
  queue_one();
  auto result = failed_attempt(claim_one(), Milliseconds(3600000));
  result.url = webhook.url;
  result.rest = Milliseconds(3600000);
  Session other = database.connect();
  transaction(session, [&] {
    const auto judged = judge_urls(session, {&result});
    BOOST_CHECK(judged.former.empty());
    change_webhook(other, {1, 7}, webhook.id, {.url = other_url}, any, {});
    ChangeWalk walk;
    try {
      while (!walk.done) apply_changes(other, walk);
    } catch (const LockTimeout&) {
      // Only MySQL waits for the row that judge_urls has inserted. The dispatcher would try again.
      BOOST_CHECK(!session.is_mariadb());
    }
    record_executions(session, delivery::results_by_webhook(judged.batch), Milliseconds(0));
  });
  apply();
  BOOST_CHECK_EQUAL(load_receiving(session, {webhook.id}).at(0).rest.count(), 0);
  BOOST_CHECK_EQUAL(number("SELECT fallos AS n FROM webhook_ejecuciones"), 0);
}

BOOST_AUTO_TEST_CASE(other_changes_make_nothing_due) {
  queue_one();
  fail_one();
  change({.active = false});
  apply();
  change({.active = true});
  const auto walk = apply();
  BOOST_CHECK(walk.applied == 1 && walk.hastened == 0);
  BOOST_CHECK(nothing_due());
}

BOOST_AUTO_TEST_CASE(large_backlogs_are_hastened_in_batches_without_delaying_others) {
  const auto second = add_webhook(session, 2);
  for (int i = 0; i < 1200; ++i) queue_one();
  session.update("UPDATE entregas SET paso = 1, proximo_intento = UTC_TIMESTAMP(3) + INTERVAL 1 HOUR");
  change({.url = other_url});
  change_webhook(session, {2}, second.id, {.url = other_url}, any);
  ChangeWalk first;
  apply_changes(session, first);
  apply_changes(session, first);
  BOOST_CHECK(first.unfinished == 1 && first.applied == 1 && first.hastened == 500);
  std::uint64_t hastened = first.hastened;
  for (int round = 0; round < 3; ++round) hastened += apply().hastened;
  BOOST_CHECK_EQUAL(hastened, 1200U);
  BOOST_CHECK_EQUAL(number("SELECT COUNT(*) AS n FROM cambios_webhook"), 0);
}

BOOST_AUTO_TEST_CASE(pending_deliveries_are_found_without_reading_finished_ones) {
  add_deliveries(3000, "entregada", 1);
  queue_one();
  fail_one();
  queue_one();
  fail_one();
  session.update("UPDATE entregas SET adelantada = TRUE WHERE estado = 'pendiente' ORDER BY id LIMIT 1");
  change({.url = other_url});
  const auto before = rows_read(session);
  ChangeWalk walk;
  apply_changes(session, walk);
  BOOST_CHECK_LT(rows_read(session) - before, 100);
  BOOST_CHECK(walk.applied == 1 && walk.hastened == 2);
}

BOOST_AUTO_TEST_CASE(a_locked_execution_row_delays_only_its_own_change) {
  queue_one();
  fail_one();
  const auto second = add_webhook(session, 2);
  change({.url = other_url});
  change_webhook(session, {2}, second.id, {.url = other_url}, any);
  Session other = database.connect();
  other.execute("START TRANSACTION");
  other.query("SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = ? FOR UPDATE", webhook.id);
  const auto walk = apply();
  BOOST_CHECK(walk.held == 1 && walk.applied == 1);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(apply().applied, 1U);
}

BOOST_AUTO_TEST_CASE(a_row_that_the_database_refuses_keeps_no_other_change_waiting) {
  for (int i = 0; i < 2; ++i) queue_one();
  for (int i = 0; i < 2; ++i) fail_one();
  const auto second = add_webhook(session, 2), third = add_webhook(session, 3);
  session.update("INSERT INTO webhook_ejecuciones (webhook_id) VALUES (?)", second.id);
  change({.url = other_url});
  change_webhook(session, {2}, second.id, {.url = other_url}, any);
  change_webhook(session, {3}, third.id, {.url = other_url}, any);
  const auto refuse = [&](const char* table, const std::string& condition) {
    session.execute(std::string("CREATE TRIGGER refuse_") + table + " BEFORE UPDATE ON " + table +
                    " FOR EACH ROW BEGIN IF " + condition +
                    " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  };
  refuse("entregas", "NEW.id = 1");
  refuse("webhook_ejecuciones", "NEW.webhook_id = " + to_string(second.id));
  ChangeWalk walk;
  BOOST_CHECK_NO_THROW(while (!walk.done) apply_changes(session, walk));
  BOOST_CHECK(walk.applied == 2 && walk.hastened == 1);
  BOOST_CHECK_EQUAL(walk.refusal.substr(0, walk.refusal.find(':')), "webhook " + to_string(second.id));
  BOOST_CHECK_EQUAL(number("SELECT COUNT(*) AS n FROM cambios_webhook"), 1);
}

BOOST_AUTO_TEST_CASE(a_locked_gap_keeps_only_the_change_of_its_webhook_waiting) {
  if (!session.is_mariadb()) return;
  queue_one();
  fail_one();
  const auto second = add_webhook(session, 2);
  change({.url = other_url});
  change_webhook(session, {2}, second.id, {.url = other_url}, any);
  auto other = lock_gap(database, webhook.id, "pendiente", due_now);
  ChangeWalk walk;
  BOOST_CHECK(waits_for_no_lock(
      session, [&] { BOOST_CHECK_NO_THROW(while (!walk.done) apply_changes(session, walk)); }));
  BOOST_CHECK(walk.held == 1 && walk.applied == 1);
  other.execute("ROLLBACK");
  BOOST_CHECK_EQUAL(apply().hastened, 1U);
}

BOOST_AUTO_TEST_CASE(failures_before_a_url_change_deactivate_no_webhook) {
  queue_one();
  fail_one();
  session.update(
      "UPDATE webhook_ejecuciones SET fallos = 20, fallos_desde = UTC_TIMESTAMP(3) - INTERVAL 10 DAY,"
      " fallos_ultimo = UTC_TIMESTAMP(3)");
  const auto due = [&] {
    return find_due_for_deactivation(session, {webhook.id}, std::chrono::days(5)).size();
  };
  BOOST_CHECK_EQUAL(due(), 1U);
  const auto listed = [&] {
    return list_failing_webhooks(session, {}, std::chrono::days(5)).size() +
           static_cast<std::size_t>(count_near_deactivation(session, std::chrono::days(5))->nine_tenths);
  };
  BOOST_CHECK_EQUAL(listed(), 2U);
  change({.url = other_url});
  BOOST_CHECK_EQUAL(due(), 0U);
  BOOST_CHECK_EQUAL(listed(), 0U);
}

BOOST_AUTO_TEST_CASE(the_audit_is_kept_for_as_long_as_its_key_says) {
  change({.url = other_url});
  session.update(
      "UPDATE auditoria SET ocurrida_en = UTC_TIMESTAMP(3) - INTERVAL IF(accion = 'alta', 8, 6) DAY");
  BOOST_CHECK_EQUAL(forget_old_audit(session, std::chrono::days(9)), 0U);
  BOOST_CHECK_EQUAL(forget_old_audit(session, std::chrono::days(7)), 1U);
  BOOST_CHECK_EQUAL(audit().size(), 1U);
}

BOOST_AUTO_TEST_SUITE_END()
