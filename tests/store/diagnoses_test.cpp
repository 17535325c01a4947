// Diagnoses that entities ask for: their quota, their lease, and the limit of one at a time for each webhook.
#include "lib/store/diagnoses/diagnoses.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/errors.hpp"
#include "tests/store/maintenance_support.hpp"
#include "tests/store/quota_support.hpp"
#include "tests/store/threads.hpp"

using namespace store;
using namespace store::testing;
using enum DiagnosisAsked;

namespace {

constexpr std::uint64_t lease = 18446744073709551615U;
constexpr auto written = DiagnosisUpdate::done;
constexpr auto locked = DiagnosisUpdate::locked;
constexpr auto lost = DiagnosisUpdate::lost;
constexpr platform::Milliseconds length{60000};
const std::string findings = R"([{"prueba":"nombre"}])";

struct Fixture : MaintenanceFixture {
  Webhook webhook = add_webhook(session, 1);
  Author author{1, {}};

  AskedDiagnosis ask(unsigned limit = 0) { return ask(session, webhook.id, limit); }
  AskedDiagnosis ask(Session& by, WebhookId of, unsigned limit) {
    return ask_diagnosis(by, author, "Entidad ñ", of, limit);
  }
  /// Asks for a diagnosis. If the quota refuses it, returns the seconds to wait. Otherwise claims and
  /// finishes the diagnosis, and returns 0.
  unsigned refused_for(unsigned limit) {
    try {
      BOOST_CHECK(ask(limit).result == done);
      end();
      return 0;
    } catch (const OverQuota& error) {
      return error.retry_after_s;
    }
  }
  void end() {
    BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
    BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "terminado", findings) == written);
  }
  std::string state() { return find_diagnosis(session, webhook.id).value().state; }
  void lose_lease() {
    session.execute("UPDATE diagnosticos SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1000 MICROSECOND");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(diagnoses, Fixture)

BOOST_AUTO_TEST_CASE(a_diagnosis_is_requested_run_and_shown) {
  BOOST_TEST(!find_diagnosis(session, webhook.id).has_value());
  BOOST_TEST(!peek_queue(session).asked_diagnoses);
  BOOST_TEST(ask().state == "pendiente");
  BOOST_TEST(peek_queue(session).asked_diagnoses);
  const auto waiting = find_diagnosis(session, webhook.id).value();
  BOOST_TEST((waiting.state == "pendiente" && !waiting.started && waiting.findings.empty()));
  const auto asked = find_asked_diagnoses(session, 0, 16);
  BOOST_TEST_REQUIRE(asked.size() == 1U);
  BOOST_TEST((asked[0].target.webhook == webhook.id && asked[0].target.url == webhook.url));
  BOOST_TEST((asked[0].entity == 1 && asked[0].entity_name == "Entidad ñ" && asked[0].diagnosable));
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  BOOST_CHECK(claim_diagnosis(session, webhook.id, 7, length) == lost);  // another dispatcher is too late
  BOOST_TEST(!peek_queue(session).asked_diagnoses);
  const auto running = find_diagnosis(session, webhook.id).value();
  BOOST_TEST((running.state == "en_curso" && running.started.has_value()));
  BOOST_CHECK(renew_diagnosis(session, webhook.id, lease, length) == written);
  BOOST_CHECK(renew_diagnosis(session, webhook.id, 7, length) == lost);
  BOOST_CHECK(finish_diagnosis(session, webhook.id, 7, "terminado", findings) == lost);
  BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "terminado", findings) == written);
  const auto over = find_diagnosis(session, webhook.id).value();
  BOOST_TEST((over.state == "terminado" && over.findings == findings && over.started == running.started));
  BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "fallido", findings) == lost);
}

BOOST_AUTO_TEST_CASE(a_webhook_has_one_diagnosis_at_a_time_counted_once) {
  BOOST_TEST(ask(1).state == "pendiente");
  BOOST_TEST(ask(1).state == "pendiente");
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  BOOST_TEST(ask(1).state == "en_curso");
  BOOST_TEST(count("diagnosticos") == 1);
  BOOST_TEST(list_audit(session, {}, "diagnostico").size() == 1U);
  BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "terminado", findings) == written);
  BOOST_CHECK_EXCEPTION(ask(1), OverQuota, is_of(Quota::diagnostics));
  BOOST_TEST(state() == "terminado");  // a refused request does not replace the last diagnosis
  BOOST_TEST(ask(0).state == "pendiente");
  BOOST_TEST(find_diagnosis(session, webhook.id)->findings.empty());
}

BOOST_AUTO_TEST_CASE(the_hourly_diagnosis_quota_refills_gradually) {
  set_clock({});
  for (int i = 0; i < 6; ++i) BOOST_TEST(refused_for(6) == 0U);
  BOOST_TEST(refused_for(6) > 590U);
  set_clock(Milliseconds(600 * 1000));
  BOOST_TEST(refused_for(6) == 0U);
  BOOST_TEST(refused_for(6) > 0U);
  set_clock(3 * hour);
  for (int i = 0; i < 6; ++i) BOOST_TEST(refused_for(6) == 0U);
  BOOST_TEST(refused_for(6) > 0U);
}

BOOST_AUTO_TEST_CASE(concurrent_requests_create_one_diagnosis) {
  std::atomic<int> accepted = 0;
  run_at_once(8, [&](int) {
    auto other = database.connect();
    if (despite_lock_timeouts([&] { return ask(other, webhook.id, 6); }).result == done) ++accepted;
  });
  BOOST_TEST((accepted == 8 && count("diagnosticos") == 1));
  BOOST_TEST(number("SELECT SUM(veces) FROM auditoria WHERE accion = 'diagnostico'") == 1);
  end();
  for (int i = 0; i < 5; ++i) BOOST_TEST(refused_for(6) == 0U);
  BOOST_TEST(refused_for(6) > 0U);  // together, the eight requests counted as one
}

BOOST_AUTO_TEST_CASE(a_diagnosis_with_an_expired_lease_fails_and_can_be_repeated) {
  ask();
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  lose_lease();
  const auto shown = find_diagnosis(session, webhook.id).value();
  BOOST_TEST((shown.state == "fallido" && shown.findings.empty() && shown.started.has_value()));
  BOOST_CHECK(renew_diagnosis(session, webhook.id, lease, length) == lost);
  BOOST_TEST(ask().state == "pendiente");
  BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "terminado", findings) == lost);  // too late
  BOOST_TEST(state() == "pendiente");
}

BOOST_AUTO_TEST_CASE(a_lease_can_be_renewed_in_the_millisecond_of_its_claim) {
  set_clock({});
  ask();
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  for (int i = 0; i < 3; ++i) BOOST_CHECK(renew_diagnosis(session, webhook.id, lease, length) == written);
}

BOOST_AUTO_TEST_CASE(a_clock_setback_leaves_no_diagnosis_running) {
  ask();
  set_clock(hour);
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  set_clock({});
  BOOST_TEST(state() == "fallido");
  BOOST_TEST(ask().state == "pendiente");
}

BOOST_AUTO_TEST_CASE(a_locked_diagnosis_keeps_no_dispatcher_waiting) {
  ask();
  auto other = database.connect();
  const auto hold = [&] {
    other.execute("START TRANSACTION");
    other.query("SELECT * FROM diagnosticos FOR UPDATE");
  };
  hold();
  BOOST_CHECK(waits_for_no_lock(session, [&] {
    BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == locked);
    fail_asked_diagnosis(session, webhook.id, findings);
  }));
  BOOST_TEST(state() == "pendiente");
  other.execute("ROLLBACK");
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  hold();
  BOOST_CHECK(waits_for_no_lock(session, [&] {
    BOOST_CHECK(renew_diagnosis(session, webhook.id, lease, length) == locked);
    BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "terminado", findings) == locked);
    BOOST_CHECK(release_diagnosis(session, webhook.id, lease) == locked);
  }));
  other.execute("ROLLBACK");
  BOOST_TEST(state() == "en_curso");
  BOOST_CHECK(finish_diagnosis(session, webhook.id, lease, "terminado", findings) == written);
}

BOOST_AUTO_TEST_CASE(a_released_diagnosis_is_pending_again) {
  ask();
  BOOST_CHECK(claim_diagnosis(session, webhook.id, lease, length) == written);
  BOOST_CHECK(release_diagnosis(session, webhook.id, 7) == lost);
  BOOST_TEST(state() == "en_curso");
  BOOST_CHECK(release_diagnosis(session, webhook.id, lease) == written);
  BOOST_TEST(state() == "pendiente");
  BOOST_CHECK(claim_diagnosis(session, webhook.id, 7, length) == written);
}

BOOST_AUTO_TEST_CASE(an_inactive_webhook_may_be_diagnosed_unless_operator_disabled) {
  session.execute("UPDATE webhooks SET activo = FALSE, motivo = 'http_410'");
  BOOST_CHECK(ask().result == done);
  BOOST_TEST(find_asked_diagnoses(session, 0, 16).at(0).diagnosable);
  session.execute("UPDATE webhooks SET motivo = 'operador'");
  BOOST_CHECK(ask().result == disabled);
  BOOST_TEST(!find_asked_diagnoses(session, 0, 16).at(0).diagnosable);
  fail_asked_diagnosis(session, webhook.id, findings);
  BOOST_TEST((state() == "fallido" && find_asked_diagnoses(session, 0, 16).empty()));
}

BOOST_AUTO_TEST_CASE(a_diagnosis_pending_for_an_hour_is_overdue) {
  ask();
  BOOST_TEST(!find_asked_diagnoses(session, 0, 16).at(0).overdue);
  session.execute("UPDATE diagnosticos SET pedido_en = pedido_en - INTERVAL 3601 SECOND");
  BOOST_TEST(find_asked_diagnoses(session, 0, 16).at(0).overdue);
  fail_asked_diagnosis(session, webhook.id, findings);
  ask();
  BOOST_TEST(!find_asked_diagnoses(session, 0, 16).at(0).overdue);
}

BOOST_AUTO_TEST_CASE(a_deleted_webhook_or_disabled_entity_is_not_diagnosed) {
  ask();
  session.execute("UPDATE entidades SET activa = FALSE");
  BOOST_TEST(!find_asked_diagnoses(session, 0, 16).at(0).diagnosable);
  session.execute("UPDATE entidades SET activa = TRUE");
  delete_webhook(session, author, webhook.id);
  BOOST_TEST(!find_asked_diagnoses(session, 0, 16).at(0).diagnosable);
  BOOST_CHECK(ask().result == not_found);
}

BOOST_AUTO_TEST_CASE(the_waiting_are_found_in_pages_by_webhook) {
  std::vector<WebhookId> ids{webhook.id};
  for (int i = 0; i < 4; ++i) ids.push_back(add_webhook(session, 1).id);
  for (const auto id : ids) ask(session, id, 0);
  const auto first = find_asked_diagnoses(session, 0, 3);
  BOOST_TEST_REQUIRE(first.size() == 3U);
  BOOST_TEST(find_asked_diagnoses(session, first.back().target.webhook, 3).size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_diagnosis_of_only_unknown_events_has_no_event) {
  session.execute("UPDATE webhooks SET eventos = 'evaluacion.abierta'");
  ask();
  session.execute("ALTER TABLE webhooks MODIFY eventos SET('evento.nuevo', 'evaluacion.abierta') NOT NULL");
  session.execute("UPDATE webhooks SET eventos = 'evento.nuevo'");
  BOOST_TEST(!find_asked_diagnoses(session, 0, 16).at(0).event.has_value());
}

BOOST_AUTO_TEST_CASE(old_diagnoses_are_forgotten_without_waiting_for_locks) {
  ask();
  end();
  BOOST_TEST(forget_old_diagnoses(session, day) == 0U);
  session.execute("UPDATE diagnosticos SET pedido_en = pedido_en - INTERVAL 2 DAY");
  {
    auto holder = database.connect();
    holder.execute("START TRANSACTION");
    holder.query("SELECT * FROM diagnosticos FOR UPDATE");
    BOOST_CHECK(waits_for_no_lock(session, [&] { BOOST_TEST(forget_old_diagnoses(session, day) == 0U); }));
    holder.execute("ROLLBACK");
  }
  BOOST_TEST(forget_old_diagnoses(session, day) == 1U);
  BOOST_TEST(!find_diagnosis(session, webhook.id).has_value());
}

BOOST_AUTO_TEST_CASE(the_table_refuses_inconsistent_diagnosis_rows) {
  ask();
  for (const auto* wrong : {"estado = 'en_curso'", "estado = 'terminado'", "pruebas = '[]'", "arriendo = 1"})
    BOOST_CHECK_THROW(session.update(std::string("UPDATE diagnosticos SET ") + wrong), Refused);
}

BOOST_AUTO_TEST_SUITE_END()
