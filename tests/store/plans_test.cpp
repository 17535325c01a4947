// Checks the database server's plans for tables of many rows: no statement reads or sorts a large table as a
// whole.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <set>

#include "lib/crypto/crypto.hpp"
#include "lib/platform/file.hpp"
#include "lib/store/audit/audit.hpp"
#include "lib/store/backlog/locked_notifications.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/deliveries/delivery_log.hpp"
#include "lib/store/deliveries/statistics.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"
#include "lib/store/notifications/deferred.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/notifications/report.hpp"
#include "lib/store/notifications/shifted_times.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/replays/replay_feed.hpp"
#include "lib/store/replays/replays.hpp"
#include "lib/store/webhooks/changes.hpp"
#include "lib/store/webhooks/disabled_urls.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/secret_change.hpp"
#include "tests/store/maintenance_support.hpp"

using namespace store;
using namespace store::testing;

namespace {

/// Adds 50,000 deliveries of 1,000 webhooks. Most deliveries are finished, others pending, leased or held.
void fill(Session& session) {
  // Only the tests have these triggers. Because of them, MariaDB 11.8 would sort the rows of an UPDATE first:
  // a trigger could change the key by which the UPDATE finds its rows.
  for (const auto* table : {"entregas", "notificaciones_pendientes"})
    session.execute(std::string("DROP TRIGGER ") + table + "_transitions");
  session.execute("INSERT INTO entidades (id, nombre) SELECT seq, 'e' FROM " + numbers(1000));
  session.execute(
      "INSERT INTO webhooks (entidad_id, plaza, url, eventos) SELECT seq, 1, 'https://receptor.example.org/',"
      " 'evaluacion.cerrada' FROM " +
      numbers(1000));
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en) SELECT 1 + "
      "seq % 1000,"
      " 'evaluacion.cerrada', '{}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL 50000 - seq MINUTE FROM " +
      numbers(50000));
  session.execute(
      "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, terminada_en, "
      "arriendo,"
      " arriendo_hasta, paso) SELECT id, 1 + id % 1000, e, terminada_en + INTERVAL IF(e = 'pendiente', "
      "70000, 0) MINUTE,"
      " terminada_en, IF(e IN ('entregada', 'fallida'), terminada_en, NULL), IF(e = 'en_curso', 7, NULL),"
      " IF(e = 'en_curso', UTC_TIMESTAMP(3) + INTERVAL id - 25000 SECOND, NULL), id % 3"
      " FROM (SELECT id, terminada_en, CASE WHEN id % 50 = 0 THEN 'fallida' WHEN id % 50 < 6 THEN 'pendiente'"
      " WHEN id % 100 = 7 THEN 'en_curso' WHEN id % 500 = 8 THEN 'retenida' ELSE 'entregada' END e"
      " FROM notificaciones_pendientes) n ORDER BY id");
  session.execute(
      "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms) SELECT id, 1, creada_en, 9 "
      "FROM entregas");
  session.execute(
      "INSERT INTO webhook_ejecuciones (webhook_id, descansa_hasta) SELECT id, IF(id % 9, NULL, "
      "UTC_TIMESTAMP(3)) FROM"
      " webhooks");
  session.execute(
      "UPDATE webhooks SET plaza = NULL, fecha_baja = UTC_TIMESTAMP(3) - INTERVAL 31 DAY WHERE id % 100 = 3");
  session.execute("UPDATE webhooks SET activo = FALSE, motivo = 'operador' WHERE id % 100 = 4");
  for (const auto* table : {"entregas", "notificaciones_pendientes", "intentos_entrega", "webhooks"})
    session.query(std::string("ANALYZE TABLE ") + table);
}

/// The prepared reads and writes of `work`, from the server's log.
std::vector<std::string> statements_of(Session& session, const std::function<void()>& work) {
  session.execute("SET GLOBAL log_output = 'TABLE'");
  session.execute("TRUNCATE mysql.general_log");
  session.execute("SET GLOBAL general_log = ON");
  work();
  session.execute("SET GLOBAL general_log = OFF");
  std::vector<std::string> statements;
  // EXPLAIN does not accept SET STATEMENT.
  for (const auto& row :
       session.query("SELECT REGEXP_REPLACE(CAST(argument AS CHAR), '^[[:space:]]*(/[*]M! )?SET STATEMENT "
                     "[^*]* FOR ([*]/)?', '') AS text FROM mysql.general_log WHERE thread_id "
                     "= CONNECTION_ID() AND command_type ="
                     " 'Execute' AND argument REGEXP '^([[:space:]]*(/[*]M! )?SET STATEMENT [^*]* FOR "
                     "([*]/)?)?[([:space:]]*(SELECT|UPDATE|DELETE|INSERT)'"))
    statements.push_back(row.text("text"));
  return statements;
}

/// `j` is a JSON_TABLE of ids, `plazas` a table of the five values of `plaza`. `pausas_envio` has only the
/// operator's pauses.
bool has_few_rows(const std::string& table) {
  return table == "j" || table == "plazas" || table == "pausas_envio" || table.starts_with("<");
}

/// Checks the plan of each statement. Returns the tables, by the names that the statements use. `read_whole`:
/// a table that may be read whole.
std::set<std::string> check_plans(Session& session, const std::vector<std::string>& statements,
                                  std::string_view read_whole = "webhook_ejecuciones") {
  std::set<std::string> tables;
  for (const auto& statement : statements) {
    for (const auto& step : explain(session, statement)) {
      if (step.table.empty() || step.access.empty()) continue;  // the step reads no table
      const auto& table = step.table;
      tables.insert(table);
      const bool scanned = step.access == "ALL" || step.access == "index";
      const bool small = has_few_rows(table) || table == read_whole;
      BOOST_CHECK_MESSAGE(!scanned || small, "reads all of " << table << ": " << statement.substr(0, 300));
      const bool few = small || table == "webhooks";  // only one entity's webhooks are sorted: five at most
      BOOST_CHECK_MESSAGE(few || step.extra.find("filesort") == std::string::npos,
                          "sorts " << table << ": " << statement.substr(0, 300));
    }
  }
  return tables;
}

/// Checks that no statement reads a whole table even if the server takes all tables for empty. If
/// innodb_stats_auto_recalc is off, the server does so after a restart, however many rows the tables have.
/// Skips MySQL: no hint keeps MySQL from reading all of an index of a table that it takes for empty.
void check_plans_without_statistics(const std::vector<std::string>& statements) {
  Database empty;
  if (!empty.session.is_mariadb()) return;
  for (const auto* table : {"entregas", "notificaciones_pendientes"})
    empty.session.execute(std::string("DROP TRIGGER ") + table + "_transitions");
  for (const auto& statement : std::set<std::string>(statements.begin(), statements.end())) {
    for (const auto& step : explain(empty.session, statement)) {
      const bool scanned = step.access == "ALL" || step.access == "index";
      // For a long IN list MariaDB reads all of the index of `webhooks` that the hint names.
      const bool small = has_few_rows(step.table) || step.table == "webhook_ejecuciones" ||
                         (step.table == "webhooks" && step.access == "index");
      BOOST_CHECK_MESSAGE(!scanned || small,
                          "reads all of " << step.table << ": " << statement.substr(0, 300));
    }
  }
}

constexpr Lease lease{101, Milliseconds(60000)};

/// What the dispatcher does: scan, claim, record results, release leases, fan out.
void work(Session& session) {
  peek_queue(session);
  find_new_notifications(session, 40000, 49500, 500);
  waiting_entities(session);
  find_waiting_webhooks(session, {{1, 500}, {600, 600}});
  load_receiving(session, {1, 2, 5});
  const auto claimed = claim(session, {{1, 5}, {2, 5}, {5, 5}}, lease).leased.deliveries;
  BOOST_TEST_REQUIRE(claimed.size() > 2U);
  std::vector<DeliveryResult> delivery_results{delivered(claimed[0]),
                                               failed_attempt(claimed[1], Milliseconds(1000))};
  for (auto& delivery_result : delivery_results) delivery_result.attempts = 1;  // fill() wrote attempt 1
  delivery_results.back().gone = true;
  record_results(session, delivery_results, {Milliseconds(1000)});
  record_results(session, delivery_results, {Milliseconds(1000)});  // the leases have ended
  release_leases(session, {claimed.begin() + 2, claimed.end()});
  fan_out(session, DeliveryState::leased);
}

/// Registrations with an Idempotency-Key: new, repeated, and with a key that is too old.
void serve_once(Session& session, EntityId entity) {
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  const auto once = [&](std::string_view key) {
    create_webhook(
        session, {entity, "https://receptor.example.org/", events, {}}, keys(), 60,
        IdempotentRequest{entity, key, "{}", [](const Webhook&) { return std::string("answer"); }});
  };
  for (const auto* key : {"k", "k", "l"}) once(key);
  session.execute("UPDATE claves_idempotencia SET creada_en = '2026-01-01' WHERE entidad_id = 2");
  once("k");
  forget_old_requests(session);
}

void serve(Session& session, EntityId entity) {
  find_caller(session, crypto::sha256("token"));
  find_caller(session, crypto::sha256("token"), CallerWith::nothing_else);
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  const auto made = create_webhook(session, {entity, "https://receptor.example.org/", events, "s"}, keys());
  queue_test_event(session, entity, webhook::Event::evaluacion_cerrada, "{}", 5);
  queue_test_event(session, entity, webhook::Event::evaluacion_cerrada, "{}", 5);
  queue_webhook_test(session, entity, made.webhook.value().id, webhook::Event::documento_disponible, "{}", 5);
  const auto own = session.query("SELECT MIN(webhook_id) AS id FROM entregas").at(0).integer("id");
  const auto newest = read_log_page(session, {own}, {.state = "fallida", .since = UtcTime{}}, 50, {});
  read_log_page(session, {own}, {}, 50, newest.next);
  const std::vector<WebhookId> several{own, own + 1, own + 2, own + 4, own + 5};
  read_log_page(session, several, {.state = "fallida"}, 50, {});
  BOOST_TEST(find_logged(session, several, {}, newest.deliveries.at(0).id).has_value());
  BOOST_TEST(!read_event_data(session, {newest.deliveries.at(0).id}).empty());
  find_evidence(session, own, session.query("SELECT MIN(id) AS id FROM entregas").at(0).integer("id"));
  delete_webhook(session, {entity}, made.webhook.value().id);
}

/// An entity changes a webhook with many deliveries, and the dispatcher applies the change.
void change(Session& session, EntityId entity, WebhookId id) {
  const auto any = [](const WebhookDetail&) { return true; };
  const ChangePolicy policy{60, day};
  const Author author{entity, 1};
  change_webhook(session, author, id, {.url = "https://otro.example.org/"}, any, policy);
  change_webhook(session, author, id, {.active = true}, any, policy);
  change_webhook(session, author, id, {.name = "n"}, any, policy);
  ChangeWalk walk;
  while (!walk.done) apply_changes(session, walk);
  for (const auto* secret : {"uno", "dos", "dos"})
    change_secret(session, author, id, {secret, std::chrono::seconds(60)}, keys(), 60);
  end_grace(session, author, id);
  std::string refusal;
  erase_ended_secrets(session, refusal);
  webhook::EventSet events;
  events.insert(webhook::Event::evaluacion_cerrada);
  // Deletes another webhook, not `id`: EXPLAIN would show no plan for statements on a deleted webhook.
  const auto made = create_webhook(session, {entity, "https://receptor.example.org/", events, {}}, keys());
  delete_expected_webhook(session, author, made.webhook.value().id, any);
}

/// Asks for replays of one delivery and of ranges of a webhook, carries them out and reads them.
void replay(Session& session, EntityId entity, WebhookId webhook) {
  const Author author{entity};
  const ReplayRange failed{UtcTime{}};
  const ReplayRange all{platform::utc_now() - 1000 * hour, platform::utc_now() - hour, {}, true, true};
  const auto ended =
      session.query("SELECT MIN(id) AS id FROM entregas WHERE webhook_id = ? AND espera IS NULL", webhook)
          .at(0)
          .integer("id");
  const auto feed = [&] {
    ReplayWalk walk;
    while (!walk.done) feed_replays(session, 5, walk);
    return walk.replayed;
  };
  count_candidates(session, webhook, failed);
  const auto single = ask_replay(session, author, webhook, ended, 1000).replay.id;
  const auto range = ask_replay(session, author, webhook, all, 1000).replay.id;
  BOOST_TEST(feed() == 1U);
  const auto claimed = claim(session, {{webhook, 100}}, {707, Milliseconds(60000)}).leased.deliveries;
  std::vector<DeliveryResult> results;
  for (const auto& leased : claimed) results.push_back(delivered(leased));
  for (auto& result : results) result.attempts = 7;  // so that the new attempts have unused numbers
  record_results(session, results, {Milliseconds(1000)});
  BOOST_TEST(feed() == 5U);
  for (const auto id : {single, range}) find_replay(session, webhook, id);
  BOOST_TEST(read_replay_page(session, entity, 50, {}).next.has_value());
  BOOST_TEST(cancel_replay(session, author, webhook, range));
  ask_replay(session, author, webhook, failed, 1000);
  delete_webhook(session, author, webhook);
  feed();
  forget_old_replay(session, Milliseconds(0));
}

/// Commands of the operator, except those that read much by design: lists, which read all that their filter
/// matches, and `secrets status`.
void operate(Session& session, WebhookId webhook) {
  const auto id_of = [&](std::string_view what) {
    return session.query("SELECT MIN(id) AS id FROM " + std::string(what)).at(0).integer("id");
  };
  const auto failed = id_of("entregas WHERE espera = 'fallida'");
  const auto rejected = id_of("notificaciones_pendientes WHERE estado = 'rechazada'");
  find_notification(session, rejected);
  find_delivery(session, failed);
  list_attempts(session, failed);
  list_attempts_since(session, find_next_attempted(session, webhook), UtcTime{}, batch_rows);
  if (const auto hook = find_webhook(session, webhook))
    queue_test_delivery(session, *hook, hook->events.events().front(), "{}");
  preview_enable_webhook(session, webhook, true);
  preview_cancel_notification(session, id_of("notificaciones_pendientes"));
  retry_failed_deliveries(session, webhook, UtcTime{}, Bulk::count);
  retry_delivery(session, failed);
  retry_failed_deliveries(session, webhook, UtcTime{});
  retry_notification(session, rejected);
  cancel_notification(session, rejected);
  disable_webhook(session, webhook, disabled_by_operator);
  enable_webhook(session, webhook, false);
  enable_webhook(session, webhook, true);
  reencrypt(session, keys());
}

/// Half of the pending notifications are for later; of these, one in ten is due.
void defer_many(Session& session) {
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, no_antes_de, aplazada_hasta)"
      " SELECT 1 + seq % 1000, 'evaluacion.cerrada', '{}', UTC_TIMESTAMP(3) + INTERVAL 1 DAY,"
      " UTC_TIMESTAMP(3) + INTERVAL IF(seq % 10, 1, -1) DAY FROM " +
      numbers(20000));
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1 + seq % 1000,"
      " 'evaluacion.cerrada', '{}' FROM " +
      numbers(20000));
  session.query("ANALYZE TABLE notificaciones_pendientes");
}

/// Adds rows of many entities to the tables of quotas, of disabled URLs and of the audit.
void fill_quotas(Session& session) {
  session.execute("INSERT INTO turnos_prueba (entidad_id, turno) SELECT id, 1 FROM entidades");
  session.execute(
      "INSERT INTO pruebas_pendientes (entidad_id, entrega_id) SELECT 1 + id % 1000, id FROM entregas");
  session.execute(
      "INSERT INTO altas_webhook (entidad_id, saldadas_hasta) SELECT id, UTC_TIMESTAMP(6) FROM entidades");
  session.execute(
      "INSERT INTO auditoria (entidad_id, accion, webhook_id, detalle, repeticion) SELECT 1 + seq % 500, "
      "'reenvio', 1 + seq % 500, '{}', UNHEX(SHA2(seq, 256)) FROM " +
      numbers(20000));
  session.execute(
      "INSERT INTO urls_desactivadas (entidad_id, url, webhook_id) SELECT 1 + seq % 1000, "
      "CONCAT('https://r', seq, '.example.org/'), 1 + seq % 1000 FROM " +
      numbers(20000));
  session.query(
      "ANALYZE TABLE turnos_prueba, pruebas_pendientes, altas_webhook, auditoria, urls_desactivadas");
}

/// Counts an entity's requests, granted and refused, and notes actions in the audit.
void count_and_note(Session& session, EntityId entity, NotificationId notification) {
  lock_test_quotas(session, entity);
  BOOST_TEST(pending_tests_left(session, entity, 1000).left > 0U);
  use_quota(session, Quota::test_bytes, entity, 10, 10);
  BOOST_CHECK_THROW(use_quota(session, Quota::test_bytes, entity, 10, 10), OverQuota);
  count_pending_tests(session, entity, notification);
  use_quota(session, Quota::replay_requests, entity, 1);
  BOOST_CHECK_THROW(use_quota(session, Quota::replay_requests, entity, 1), OverQuota);
  level_of(session, Quota::test_bytes, entity, 10);
  level_of(session, Quota::replay_requests, entity, 1);
  peek_pending_tests_left(session, entity, 1000);
  for (unsigned i = 0; i < 2; ++i) note_change(session, {entity}, AuditedAction::replayed, 7, "{}", "replay");
  note_operator_action(session, {"op", "webhook disable", "webhook 7", {}, 7, "{}"});
  BOOST_TEST(read_audit_page(session, entity, 10, {}).next.has_value());
}

/// Disables a URL and enables it again; pauses a webhook and resumes it.
void stop_parts(Session& session, EntityId entity, WebhookId webhook) {
  note_disabled_url(session, webhook);
  BOOST_TEST(is_disabled_url(session, entity, "https://receptor.example.org"));
  BOOST_TEST(lift_disabled_url(session, entity, "https://receptor.example.org") == 1U);
  pause_part(session, Paused::webhook, "7", hour, "why");
  BOOST_TEST(resume_part(session, Paused::webhook, "7"));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(plans, MaintenanceFixture)

BOOST_AUTO_TEST_CASE(every_statement_of_maintenance_seeks) {
  fill(session);
  const auto statements = statements_of(session, [&] {
    recover_expired_leases(session, 500);
    see_and_accept_clock(session);
    reconcile(session);
    sweep(session, retention);
    PurgeWalk follower;
    purge(session, {day, day, day}, follower);
  });
  BOOST_CHECK_GT(statements.size(), 100U);
  check_plans_without_statistics(statements);
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"e", "d", "i", "n", "w", "x", "entregas"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_CASE(every_statement_of_the_release_of_what_was_for_later_seeks) {
  fill(session);
  defer_many(session);
  DeferredWalk walk;
  const auto statements = statements_of(session, [&] {
    BOOST_TEST(any_deferred_due(session));
    while (!walk.done) release_deferred(session, walk);
    find_oldest_pending(session, {{1, 0, 10}});
  });
  BOOST_TEST(walk.released == 2000U);
  check_plans_without_statistics(statements);
  check_plans(session, statements);
}

BOOST_AUTO_TEST_CASE(every_statement_of_the_api_and_of_the_dispatcher_seeks) {
  fill(session);
  issue_token(session, {1, crypto::sha256("token")});
  session.execute(
      "UPDATE entregas SET proximo_intento = creada_en WHERE estado = 'pendiente' AND id % 2 = 0");
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) SELECT 1 + seq % 20,"
      " 'evaluacion.cerrada', '{}' FROM " +
      numbers(2000));
  session.execute(
      "INSERT INTO claves_idempotencia (entidad_id, clave, webhook_id, cuerpo_clave, cuerpo_huella, "
      "respuesta)"
      " SELECT 3 + seq % 900, CONCAT('k', seq), seq, 'k1', 'h', '' FROM " +
      numbers(2000));
  session.query("ANALYZE TABLE entregas, notificaciones_pendientes, claves_idempotencia");
  const auto statements = statements_of(session, [&] {
    serve(session, 1);
    serve_once(session, 2);
    work(session);
  });
  check_plans_without_statistics(statements);
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"e", "d", "n", "w", "x", "c", "claves_idempotencia", "webhooks", "entregas",
                            "notificaciones_pendientes"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

// Entity 7 has asked for 100 replays before, and 49 other entities for as many each.
BOOST_AUTO_TEST_CASE(every_statement_of_a_replay_seeks) {
  fill(session);
  session.execute(
      "INSERT INTO reenvios (entidad_id, webhook_id, entrega_id, estado, candidatas, tope, terminado_en, "
      "pedido_en)"
      " SELECT 1 + seq % 50, 1 + seq % 50, seq, 'terminado', 9, 9, UTC_TIMESTAMP(3) - INTERVAL seq MINUTE,"
      " UTC_TIMESTAMP(3) - INTERVAL seq MINUTE FROM " +
      numbers(5000));
  session.execute(
      "INSERT INTO reenvios_entregas (reenvio_id, entrega_id, intentos_antes, resultado)"
      " SELECT 1 + seq % 5000, seq, 1, 'entregada' FROM " +
      numbers(20000));
  session.query("ANALYZE TABLE reenvios, reenvios_entregas");
  const auto statements = statements_of(session, [&] { replay(session, 7, 7); });
  BOOST_TEST(statements.size() > 40U);
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"e", "n", "w", "r", "v", "entregas", "reenvios", "reenvios_entregas"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_CASE(every_statement_of_a_diagnosis_seeks) {
  fill(session);
  session.execute(
      "INSERT INTO diagnosticos (webhook_id, entidad_id, entidad_nombre, estado, pedido_en, pruebas)"
      " SELECT 1000 + seq, seq, 'e', 'terminado', UTC_TIMESTAMP(3) - INTERVAL seq MINUTE, '[]' FROM " +
      numbers(5000));
  session.query("ANALYZE TABLE diagnosticos");
  const auto statements = statements_of(session, [&] {
    peek_queue(session);
    ask_diagnosis(session, {7}, "e", 7, 6);
    BOOST_TEST(find_asked_diagnoses(session, 0, 16).size() == 1U);
    claim_diagnosis(session, 7, 1, Milliseconds(1000));
    renew_diagnosis(session, 7, 1, Milliseconds(1000));
    BOOST_TEST(find_diagnosis_target(session, 7).has_value());
    finish_diagnosis(session, 7, 1, "terminado", "[]");
    ask_diagnosis(session, {7}, "e", 7, 6);
    fail_asked_diagnosis(session, 7, "[]");
    find_diagnosis(session, 7);
    BOOST_TEST(forget_old_diagnoses(session, day) > 0U);
  });
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"d", "w", "diagnosticos"}) BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_CASE(every_statement_of_quotas_of_the_audit_and_of_disabled_urls_seeks) {
  fill(session);
  fill_quotas(session);
  const auto statements = statements_of(session, [&] {
    count_and_note(session, 7, 6);
    stop_parts(session, 7, 7);
  });
  BOOST_TEST(statements.size() >= 16U);
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"p", "e", "altas_webhook", "turnos_prueba", "auditoria", "urls_desactivadas"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_CASE(every_statement_of_locked_notifications_seeks) {
  fill(session);
  session.execute(
      "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en) SELECT 1 + seq % 20,"
      " 'evaluacion.cerrada', '{}', UTC_TIMESTAMP(3) - INTERVAL 1 HOUR FROM " +
      numbers(5000));
  session.query("ANALYZE TABLE notificaciones_pendientes");
  const auto some = number("SELECT MIN(id) FROM notificaciones_pendientes WHERE estado = 'pendiente'");
  const auto statements = statements_of(session, [&] {
    BOOST_TEST(!find_oldest_pending(session, {{7, 0, 100}, {8, 0, 100}}).empty());
    BOOST_TEST(find_pending(session, {some, some + 1}).size() == 2U);
    for (const auto by : {LockedBy::row, LockedBy::row_and_entry})
      BOOST_TEST(transaction(session, [&] {
                   return lock_pending(session, {some, some + 1}, by);
                 }).size() == 2U);
    BOOST_TEST(finish_fan_out(session, some));
  });
  BOOST_TEST(statements.size() >= 6U);
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"notificaciones_pendientes", "n", "p"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
  // For the operator: one seek for each entity.
  check_plans(session,
              statements_of(session, [&] { BOOST_TEST(!find_locked_notifications(session).has_value()); }),
              "t");
}

/// The evaluation system may also join the view to a table of its own.
BOOST_AUTO_TEST_CASE(queries_of_the_result_view_seek) {
  fill(session);
  session.execute(
      "CREATE TABLE suyas (notificacion BIGINT NOT NULL PRIMARY KEY, grupo INT NOT NULL, KEY (grupo))");
  session.execute("INSERT INTO suyas SELECT id, id % 1000 FROM notificaciones_pendientes");
  session.execute(
      "UPDATE notificaciones_pendientes SET evento = 'documento.disponible', ocurrida_en = UTC_TIMESTAMP(3)"
      " WHERE id % 1000 = 7");
  session.query("ANALYZE TABLE suyas, entregas, notificaciones_pendientes");
  const std::string view = "SELECT r.* FROM notificaciones_resultado r ";
  const auto tables = check_plans(
      session,
      {view + "WHERE r.notificacion_id = 4711", view + "WHERE r.notificacion_id IN (4711, 4712, 4713)",
       view + "WHERE r.entidad_id = 7 AND r.clave = 'k'",
       view +
           "WHERE r.evento = 'documento.disponible' AND r.ocurrida_en >= UTC_TIMESTAMP(3) - INTERVAL 1 HOUR",
       "SELECT s.grupo, r.estado, r.entregadas FROM suyas s STRAIGHT_JOIN notificaciones_resultado r"
       " ON r.notificacion_id = s.notificacion WHERE s.grupo = 7"});
  for (const auto* table : {"n", "e", "s"}) BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

/// A row of the view is a seek; all rows are one pass over the entities.
BOOST_AUTO_TEST_CASE(the_addressees_of_all_entities_are_one_pass) {
  fill(session);
  for (const auto* file : {"triggers.sql", "routines.sql"}) execute_grants(session, file);
  session.execute(
      "UPDATE notificaciones_pendientes SET evento = 'evaluacion.abierta', clave = 'abierta-42' WHERE id <= "
      "1000");
  session.query("ANALYZE TABLE entidades, notificaciones_pendientes");
  const std::string view = "SELECT d.* FROM destinatarios d ";
  check_plans(session, {view + "WHERE d.entidad_id = 7", view + "WHERE d.entidad_id IN (7, 8, 9)"});
  const auto manual = platform::read_file(SOURCE_DIR "/docs/table.md");
  const auto begin = manual.find("SELECT d.entidad_id");
  BOOST_REQUIRE(begin != std::string::npos);
  const auto statement = manual.substr(begin, manual.find(';', begin) - begin);
  const auto tables = check_plans(session, {statement}, "t");
  for (const auto* table : {"t", "w", "x", "n", "e"}) BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

/// Behind 5,000 notifications of the same entity, rejected ones with the same `clave` among them.
BOOST_AUTO_TEST_CASE(a_key_is_found_by_a_seek_whether_it_is_held_or_not) {
  fill(session);
  for (const auto* file : {"triggers.sql", "routines.sql"}) execute_grants(session, file);
  session.execute(
      "UPDATE notificaciones_pendientes SET entidad_id = 7, clave = CONCAT('k', id) WHERE id <= 5000");
  session.execute(
      "UPDATE notificaciones_pendientes SET error = 'sin destinatario' WHERE clave = 'k3' AND entidad_id = "
      "7");
  session.query("ANALYZE TABLE notificaciones_pendientes");
  const auto reads = [&](const std::function<void()>& work) {
    const auto before = rows_read(session);
    work();
    return rows_read(session) - before;
  };
  const auto write = [&] {
    session.execute(
        "CALL escribir_aviso(7, 'evaluacion.cerrada', '{}', 'k2', NULL, NULL, NULL, FALSE, @numero, "
        "@conocida)");
  };
  BOOST_TEST(reads(write) < 200);
  BOOST_TEST(session.query("SELECT @conocida AS conocida").at(0).boolean("conocida"));
  for (const auto* key : {"k2", "k3"}) {
    const auto call_off = [&] {
      session.update("INSERT INTO notificaciones_anuladas (entidad_id, clave) VALUES (7, ?)", key);
    };
    BOOST_TEST(reads(call_off) < 200, key);
  }
}

BOOST_AUTO_TEST_CASE(every_statement_of_a_change_seeks) {
  fill(session);
  session.execute(
      "UPDATE webhooks SET secreto_clave = 'k1', secreto_sellado = 'x', secreto_anterior_hasta = "
      "UTC_TIMESTAMP(3) + INTERVAL 1 DAY WHERE id % 50 = 7 AND plaza IS NOT NULL");
  session.execute(
      "UPDATE webhook_ejecuciones SET fallos = 12, fallos_desde = UTC_TIMESTAMP(3), fallos_ultimo = "
      "UTC_TIMESTAMP(3)");
  for (const auto* table : {"webhooks", "webhook_ejecuciones"})
    session.query(std::string("ANALYZE TABLE ") + table);
  const auto webhook =
      session.query("SELECT webhook_id AS id FROM entregas WHERE espera = 'pendiente' AND paso > 0 LIMIT 1")
          .at(0)
          .integer("id");
  const auto entity =
      session.query("SELECT entidad_id AS id FROM webhooks WHERE id = ?", webhook).at(0).integer("id");
  const auto statements = statements_of(session, [&] { change(session, entity, webhook); });
  BOOST_TEST(statements.size() >= 30U);
  const auto tables = check_plans(session, statements);
  for (const auto* table : {"w", "x", "entregas", "webhooks", "cambios_webhook", "webhook_ejecuciones"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_CASE(every_statement_of_the_operator_seeks) {
  fill(session);
  session.execute(
      "UPDATE notificaciones_pendientes SET estado = 'rechazada', error = 'e' WHERE id % 5000 = 3");
  const auto statements = statements_of(session, [&] { operate(session, 50); });
  const auto tables = check_plans(session, statements);
  for (const auto* table :
       {"e", "n", "w", "webhooks", "entregas", "notificaciones_pendientes", "intentos_entrega"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

/// If all deliveries of a webhook wait, the index of all its deliveries is as selective as the index of what
/// waits, so the server may choose it. But its order is another, so the rows would have to be sorted.
BOOST_AUTO_TEST_CASE(operator_changes_of_a_webhook_with_many_deliveries_seek) {
  fill(session);
  const auto all_of = [&](WebhookId webhook, const std::string& assignments) {
    session.execute(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en)"
        " SELECT id, " +
        to_string(webhook) +
        ", 'pendiente', creada, creada FROM (SELECT id,"
        " terminada_en AS creada FROM notificaciones_pendientes WHERE id % 1000 <> " +
        to_string(webhook) + " - 1 ORDER BY id LIMIT 1200) n");
    session.update("UPDATE entregas SET arriendo = NULL, arriendo_hasta = NULL, " + assignments +
                       " WHERE webhook_id = ?",
                   webhook);
  };
  const WebhookId held = 10, discarded = 20, failed = 30, retried = 40;
  all_of(held, "estado = 'retenida', terminada_en = NULL");
  all_of(discarded, "estado = 'retenida', terminada_en = NULL");
  all_of(failed, "estado = 'fallida', terminada_en = UTC_TIMESTAMP(3)");
  all_of(retried, "estado = 'pendiente', terminada_en = NULL, paso = 1");
  session.query("ANALYZE TABLE entregas");
  const auto statements = statements_of(session, [&] {
    retry_failed_deliveries(session, failed, UtcTime{});
    retry_failed_deliveries(session, retried, UtcTime{});
    enable_webhook(session, held, false);
    enable_webhook(session, discarded, true);
  });
  BOOST_TEST(statements.size() >= 12U);
  check_plans(session, statements);
}

/// A list that is filtered by entity alone is read in descending order of id.
BOOST_AUTO_TEST_CASE(operator_lists_of_an_entity_or_an_event_seek) {
  fill(session);
  session.execute(
      "INSERT INTO auditoria (ocurrida_en, entidad_id, accion, webhook_id, detalle) SELECT UTC_TIMESTAMP(3) "
      "- "
      "INTERVAL seq MINUTE, 1 + seq % 500, 'cambio', 1 + seq % 500, '{}' FROM " +
      numbers(20000));
  session.execute(
      "INSERT INTO reenvios (entidad_id, webhook_id, estado, candidatas, tope, pedido_en, terminado_en)"
      " SELECT 1 + seq % 500, 1 + seq % 500, 'terminado', 1, 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM " +
      numbers(20000));
  session.execute(
      "UPDATE notificaciones_pendientes SET evento = 'documento.disponible', ocurrida_en = UTC_TIMESTAMP(3)"
      " WHERE id % 1000 = 7");
  session.query("ANALYZE TABLE auditoria, reenvios, notificaciones_pendientes");
  ReportPage page{"documento.disponible", platform::utc_now() - day};
  ListFilter own;
  own.entity = 7;
  const auto statements = statements_of(session, [&] {
    BOOST_TEST(list_audit(session, own).size() == 40U);
    BOOST_TEST(read_report(session, page).size() == 50U);
    BOOST_TEST(find_shifted_times(session).empty());
    BOOST_TEST(forget_old_audit(session, 13 * day) > 0U);
  });
  BOOST_TEST(statements.size() == 17U);
  auto tables = check_plans(session, statements);
  // reenvios may be read whole: it stays small, because replays that ended long ago are deleted.
  tables.merge(check_plans(
      session, statements_of(session, [&] { BOOST_TEST(list_replays(session, own).size() == 40U); }),
      "reenvios"));
  for (const auto* table : {"auditoria", "reenvios", "n", "e", "t"})
    BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

// webhook_ejecuciones has a row for each webhook to which anything was ever sent. That table is read whole,
// and its failing webhooks are sorted. `webhooks` is read only for the failing ones.
BOOST_AUTO_TEST_CASE(failing_webhooks_are_looked_for_in_the_executions) {
  fill(session);
  session.execute(
      "UPDATE webhook_ejecuciones SET fallos = 12, fallos_desde = UTC_TIMESTAMP(3), fallos_ultimo = "
      "UTC_TIMESTAMP(3) WHERE webhook_id % 2 = 0");
  session.query("ANALYZE TABLE webhook_ejecuciones");
  const auto statements = statements_of(session, [&] {
    find_failure_streak(session, 50, day);
    list_failing_webhooks(session, {}, day);
    count_near_deactivation(session, day);
    count_changing_entities(session);
    read_statistics(session, 50, day);
  });
  BOOST_TEST(statements.size() >= 7U);
  const auto tables = check_plans(session, statements, "x");
  for (const auto* table : {"w", "x", "cortes_envio"}) BOOST_CHECK_MESSAGE(tables.contains(table), table);
}

BOOST_AUTO_TEST_SUITE_END()
