#include "lib/store/deliveries/executions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "lib/store/deliveries/result_rows.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

using delivery::DeliveryResult;

namespace {

/// MariaDB and MySQL assign from left to right, so the recovery and the streak are computed from the former
/// values of ultimo_error, fallos, fallos_ultimo and ultima_ejecucion. The streak starts again after a
/// success, and after 48 h without a counted failure.
constexpr std::string_view insert_executions = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, sondeo,
    descansa_hasta, fallos, fallos_desde, fallos_ultimo, adelantar_en)
  SELECT j.w, '1970-01-01' + INTERVAL j.at * 1000 MICROSECOND, j.status, COALESCE(j.error, ''),
    COALESCE(j.probe, 0), UTC_TIMESTAMP(3) + INTERVAL j.rest MICROSECOND, j.failures,
    IF(j.failures = 0, NULL, UTC_TIMESTAMP(3)), IF(j.failures = 0, NULL, UTC_TIMESTAMP(3)),
    UTC_TIMESTAMP(3) + INTERVAL j.ahead MICROSECOND
  FROM JSON_TABLE(?, '$[*]' COLUMNS (w BIGINT PATH '$.w', at BIGINT PATH '$.at', status INT PATH '$.status',
    error VARCHAR(500) PATH '$.error', probe INT PATH '$.probe', rest BIGINT PATH '$.rest',
    ok INT PATH '$.ok', failures INT PATH '$.failures', ahead BIGINT PATH '$.ahead')) j
  ON DUPLICATE KEY UPDATE
    adelantar_en = IF(j.at IS NULL OR (j.error = '' AND j.ahead IS NULL AND ultimo_error = ''), adelantar_en,
      IF(j.error = '', UTC_TIMESTAMP(3), VALUES(adelantar_en))),
    fallos_desde = IF(j.ok = 0 AND fallos > 0
        AND )sql";
constexpr std::string_view or_since = R"sql(,
      fallos_desde, VALUES(fallos_desde)),
    fallos = LEAST(4294967295, IF(j.ok = 0 AND fallos > 0
        AND )sql";
constexpr std::string_view or_count = R"sql(,
      fallos, 0) + j.failures),
    fallos_ultimo = IF(j.failures > 0, UTC_TIMESTAMP(3), fallos_ultimo),
    ultima_ejecucion = COALESCE(VALUES(ultima_ejecucion), ultima_ejecucion),
    ultimo_estado = IF(j.at IS NULL, ultimo_estado, VALUES(ultimo_estado)),
    ultimo_error = IF(j.at IS NULL, ultimo_error, VALUES(ultimo_error)),
    sondeo = IF(j.at IS NULL, sondeo, VALUES(sondeo)),
    descansa_hasta = GREATEST(COALESCE(VALUES(descansa_hasta), descansa_hasta),
      COALESCE(descansa_hasta, VALUES(descansa_hasta))))sql";
constexpr std::string_view note_executions =
    joined<insert_executions, streak_goes_on, or_since, streak_goes_on, or_count>;

/// For batches that contain only successes, as most do. Takes half as long as note_executions, because
/// JSON_TABLE costs more than writing the row.
constexpr std::string_view insert_successes = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado) VALUES)sql";
constexpr std::string_view or_note_success = R"sql(
  ON DUPLICATE KEY UPDATE
    adelantar_en = IF(ultimo_error = '', adelantar_en, UTC_TIMESTAMP(3)),
    fallos_desde = NULL, fallos = 0, ultima_ejecucion = VALUES(ultima_ejecucion),
    ultimo_estado = VALUES(ultimo_estado), ultimo_error = '', sondeo = FALSE)sql";

/// A 410 deactivates the webhook only while it still has the URL that answered.
constexpr std::string_view deactivate_webhook = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE webhooks SET activo = FALSE, motivo = ?
  WHERE id = ? AND activo AND plaza IS NOT NULL AND (? IS NULL OR url = ?))sql";

/// The results of one webhook in a batch: its last attempt, and the failures since its last success.
struct Execution {
  const DeliveryResult* last = nullptr;  // null: all its deliveries in the batch were held, not sent
  bool succeeded = false;
  unsigned failures = 0;
  bool any_failed = false;  // including failures that do not count for the streak
  platform::Milliseconds rest{};
};

std::map<WebhookId, Execution> executions_of(const ResultBatch& delivery_results) {
  std::map<WebhookId, Execution> result;  // by id: every session writes the rows in the same order
  for (const auto* delivery_result : delivery_results) {
    if (!delivery_result->counted || delivery_result->former_url) continue;
    auto& execution = result[delivery_result->webhook];
    execution.rest = std::max(execution.rest, delivery_result->rest);
    if (!was_attempted(*delivery_result)) continue;
    execution.last = delivery_result;
    const bool success = is_delivered(*delivery_result);
    execution.any_failed = execution.any_failed || !success;
    if (delivery_result->test) continue;
    execution.succeeded = execution.succeeded || success;
    if (success)
      execution.failures = 0;
    else if (delivery_result->kind != delivery::AttemptKind::probe)
      ++execution.failures;
  }
  return result;
}

/// How long attempts ahead of the schedule must wait. If the last attempt failed, a probe waits for
/// `probe_interval`, or for the rest if that is longer; nullopt if `probe_interval` is 0. If the last attempt
/// succeeded after a failure in this batch, the recovery does not wait: 0. If no attempt of this batch
/// failed, returns nullopt, and note_executions looks for a failure before this batch.
std::optional<platform::Milliseconds> tried_ahead_in(const Execution& execution,
                                                     platform::Milliseconds probe_interval) {
  if (is_delivered(*execution.last))
    return execution.any_failed ? std::optional(platform::Milliseconds{}) : std::nullopt;
  if (probe_interval.count() == 0) return std::nullopt;
  return std::max(probe_interval, execution.rest);
}

json::Value execution_row(WebhookId webhook, const Execution& execution, const FailurePolicy& policy) {
  json::Object row{
      {"w", webhook},
      {"rest", execution.rest.count() > 0 ? std::optional(microseconds(execution.rest)) : std::nullopt},
      {"ok", execution.succeeded ? 1 : 0},
      {"failures", static_cast<std::int64_t>(execution.failures)}};
  if (execution.last != nullptr) {
    row.emplace_back("at", std::int64_t{execution.last->started.time_since_epoch().count()});
    row.emplace_back("status", execution.last->status);
    row.emplace_back("error", execution.last->error);
    row.emplace_back("probe", execution.last->probe ? 1 : 0);
    row.emplace_back("ahead", microseconds(tried_ahead_in(execution, policy.probe_interval)));
  }
  return row;
}

bool only_succeeded(const Execution& execution) {
  return execution.succeeded && !execution.any_failed && execution.rest.count() == 0 &&
         !execution.last->probe;
}

void write_executions(Session& session, const std::map<WebhookId, Execution>& executions,
                      const FailurePolicy& policy) {
  if (executions.empty()) return;
  // The successes are not written apart from the failures, because every session must lock all these rows in
  // the order of their ids.
  if (std::ranges::all_of(executions, [](const auto& one) { return only_succeeded(one.second); })) {
    std::vector<Parameter> rows;
    for (const auto& [webhook, execution] : executions)
      rows.insert(rows.end(), {webhook, execution.last->started, execution.last->status});
    return upsert_rows(session, insert_successes, "(?, ?, ?)", rows, or_note_success);
  }
  json::Array rows;
  for (const auto& [webhook, execution] : executions)
    rows.push_back(execution_row(webhook, execution, policy));
  session.update(note_executions, json::dump(rows));
}

/// Locks and returns the webhooks that have failed for longer than `disable_after`. Judges each webhook again
/// under the lock: its entity may just have activated it or changed its URL, which ends the streak. Leaves
/// out a webhook with a row that another session has locked: it is judged again at its next failure.
std::vector<WebhookId> lock_failing(Session& session, const std::map<WebhookId, Execution>& executions,
                                    platform::Milliseconds disable_after) {
  std::vector<WebhookId> failed;
  for (const auto& [webhook, execution] : executions) {
    if (execution.failures > 0) failed.push_back(webhook);
  }
  auto failing = find_due_for_deactivation(session, failed, disable_after);  // nearly always empty
  std::ranges::sort(failing);  // every session locks in the same order
  return find_due_for_deactivation(session, lock_webhooks(session, failing), disable_after);
}

/// Deactivates webhooks that answered 410 or have failed for longer than `disable_after`; returns them.
std::vector<WebhookId> deactivate(Session& session, const ResultBatch& batch,
                                  const std::map<WebhookId, Execution>& executions,
                                  platform::Milliseconds disable_after) {
  struct Reason {
    std::string_view name;
    std::optional<std::string> url{};  // only if the webhook still has this URL
  };
  std::map<WebhookId, Reason> reasons;
  for (const auto webhook : lock_failing(session, executions, disable_after))
    reasons[webhook] = {disabled_by_failures};
  for (const auto* result : batch) {
    if (!result->gone) continue;
    reasons[result->webhook] = {disabled_by_gone,
                                result->url.empty() ? std::nullopt : std::optional(result->url)};
  }
  std::vector<WebhookId> deactivated;
  for (const auto& [webhook, reason] : reasons) {
    if (session.update(deactivate_webhook, reason.name, webhook, reason.url, reason.url) == 1)
      deactivated.push_back(webhook);
  }
  return deactivated;
}

}  // namespace

std::vector<WebhookId> record_executions(Session& session, const ResultBatch& batch,
                                         const FailurePolicy& policy) {
  const auto executions = executions_of(batch);
  write_executions(session, executions, policy);
  return deactivate(session, batch, executions, policy.disable_after);
}

}  // namespace store
