#include "store/deliveries/results.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "store/session/json_rows.hpp"
#include "store/session/rows_by_key.hpp"
#include "store/webhooks/webhooks.hpp"

namespace store {

namespace json = webhook::json;

namespace {

constexpr unsigned min_failures_to_disable = 10;

constexpr std::string_view set_delivered = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]',
    status INT PATH '$[2]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = 'entregada', e.intentos = e.intentos + 1, e.arriendo = NULL, e.arriendo_hasta = NULL,
    e.ultimo_estado = j.status, e.ultimo_error = '', e.terminada_en = UTC_TIMESTAMP(3)
  WHERE e.estado = 'en_curso' AND e.arriendo = j.lease)sql";

constexpr std::string_view set_not_delivered = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]',
    state VARCHAR(10) PATH '$[2]', step INT PATH '$[3]', wait_us BIGINT PATH '$[4]', status INT PATH '$[5]',
    error VARCHAR(500) PATH '$[6]', attempted INT PATH '$[7]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = j.state, e.intentos = e.intentos + j.attempted, e.paso = j.step,
    e.proximo_intento = IF(j.state = 'pendiente', UTC_TIMESTAMP(3) + INTERVAL j.wait_us MICROSECOND,
      e.proximo_intento),
    e.arriendo = NULL, e.arriendo_hasta = NULL,
    e.ultimo_estado = IF(j.attempted, j.status, e.ultimo_estado), e.ultimo_error = j.error,
    e.terminada_en = IF(j.state = 'fallida', UTC_TIMESTAMP(3), NULL)
  WHERE e.estado = 'en_curso' AND e.arriendo = j.lease)sql";

constexpr std::string_view add_attempts = R"sql(
  INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http, error)
  SELECT j.id, j.number, '1970-01-01' + INTERVAL j.started * 1000 MICROSECOND, j.duration, j.address,
    j.status, j.error
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', number INT PATH '$[1]',
    started BIGINT PATH '$[2]', duration BIGINT PATH '$[3]', address VARCHAR(45) PATH '$[4]',
    status INT PATH '$[5]', error VARCHAR(500) PATH '$[6]')) j)sql";

/// Assignments run from left to right: the streak is judged before ultima_ejecucion and fallos change. It
/// starts again after a success and after 48 h without an attempt.
constexpr std::string_view note_executions = R"sql(
  INSERT INTO webhook_ejecuciones
    (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, sondeo, descansa_hasta, fallos, fallos_desde)
  SELECT j.w, '1970-01-01' + INTERVAL j.at * 1000 MICROSECOND, j.status, COALESCE(j.error, ''),
    COALESCE(j.probe, 0), UTC_TIMESTAMP(3) + INTERVAL j.rest MICROSECOND, j.failures,
    IF(j.failures = 0, NULL, UTC_TIMESTAMP(3))
  FROM JSON_TABLE(?, '$[*]' COLUMNS (w BIGINT PATH '$.w', at BIGINT PATH '$.at', status INT PATH '$.status',
    error VARCHAR(500) PATH '$.error', probe INT PATH '$.probe', rest BIGINT PATH '$.rest',
    ok INT PATH '$.ok', failures INT PATH '$.failures')) j
  ON DUPLICATE KEY UPDATE
    fallos_desde = IF(j.ok = 0 AND fallos > 0 AND ultima_ejecucion > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR,
      fallos_desde, VALUES(fallos_desde)),
    fallos = IF(j.ok = 0 AND fallos > 0 AND ultima_ejecucion > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR,
      fallos, 0) + j.failures,
    ultima_ejecucion = COALESCE(VALUES(ultima_ejecucion), ultima_ejecucion),
    ultimo_estado = IF(j.at IS NULL, ultimo_estado, VALUES(ultimo_estado)),
    ultimo_error = IF(j.at IS NULL, ultimo_error, VALUES(ultimo_error)),
    sondeo = IF(j.at IS NULL, sondeo, VALUES(sondeo)),
    descansa_hasta = GREATEST(COALESCE(VALUES(descansa_hasta), descansa_hasta),
      COALESCE(descansa_hasta, VALUES(descansa_hasta))))sql";

constexpr std::string_view deactivate_webhook = R"sql(
  UPDATE webhooks SET activo = FALSE, motivo = ? WHERE id = ? AND activo AND plaza IS NOT NULL)sql";
constexpr std::string_view deactivate_failing_webhook = R"sql(
  UPDATE webhooks w JOIN webhook_ejecuciones x ON x.webhook_id = w.id
  SET w.activo = FALSE, w.motivo = ?
  WHERE w.id = ? AND w.activo AND w.plaza IS NOT NULL AND x.fallos >= ?
    AND x.fallos_desde <= UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND)sql";

constexpr std::string_view leases_of = R"sql(
  SELECT id, arriendo FROM entregas WHERE id IN)sql";
constexpr std::string_view lock_leased = "AND estado = 'en_curso' FOR UPDATE";

constexpr std::string_view deliveries_by_id = R"sql(
  SELECT id FROM entregas WHERE id IN)sql";
constexpr std::string_view executions_by_id = R"sql(
  SELECT webhook_id AS id FROM webhook_ejecuciones WHERE webhook_id IN)sql";
constexpr std::string_view webhooks_by_id = R"sql(
  SELECT id FROM webhooks WHERE id IN)sql";
constexpr std::string_view if_free_for_change = "FOR UPDATE SKIP LOCKED";
/// Recording a result reads the webhooks' own rows, for the foreign key. Each server has its own words for
/// it, and takes those of the other for a comment.
constexpr std::string_view if_free_for_share = "/*M! LOCK IN SHARE MODE *//*!80001 FOR SHARE */ SKIP LOCKED";

std::int64_t microseconds(platform::Milliseconds time) { return std::int64_t{time.count()} * 1000; }

using Batch = std::vector<const DeliveryResult*>;

/// One JSON array per result that `wanted` picks, of the fields that `row` gives.
template <class Wanted, class MakeRow>
json::Array rows_of(const Batch& batch, Wanted&& wanted, MakeRow&& row) {
  json::Array rows;
  for (const auto* delivery_result : batch) {
    if (wanted(*delivery_result)) rows.push_back(row(*delivery_result));
  }
  return rows;
}

bool is_delivered(const DeliveryResult& s) { return s.state == DeliveryState::delivered; }

/// Some of a batch were no longer under their lease, so nothing was written.
struct NotAllOwned {};

/// Most of most batches: little to say, so said in little.
std::uint64_t update_delivered(Session& session, const Batch& batch) {
  const auto rows = rows_of(batch, is_delivered, [](const DeliveryResult& s) {
    return json::Array{s.id, std::to_string(s.lease), s.status};
  });
  if (rows.empty()) return 0;
  return session.update(set_delivered, json::dump(rows));
}

std::uint64_t update_others(Session& session, const Batch& batch) {
  const auto rows = rows_of(
      batch, [](const DeliveryResult& s) { return !is_delivered(s); },
      [](const DeliveryResult& s) {
        const std::int64_t attempted = s.state == DeliveryState::held ? 0 : 1;
        return json::Array{s.id,
                           std::to_string(s.lease),
                           name(s.state),
                           static_cast<std::int64_t>(s.failures),
                           microseconds(s.wait),
                           s.status,
                           s.error,
                           attempted};
      });
  if (rows.empty()) return 0;
  return session.update(set_not_delivered, json::dump(rows));
}

void insert_attempts(Session& session, const Batch& batch) {
  const auto rows = rows_of(
      batch, [](const DeliveryResult& s) { return s.state != DeliveryState::held; },
      [](const DeliveryResult& s) {
        return json::Array{s.id,
                           std::int64_t{s.attempts} + 1,
                           std::int64_t{s.started.time_since_epoch().count()},
                           std::int64_t{s.duration.count()},
                           s.address,
                           s.status,
                           s.error};
      });
  if (rows.empty()) return;
  session.update(add_attempts, json::dump(rows));
}

/// What a batch says of one webhook: its last attempt, and the failures since its last success.
struct Execution {
  const DeliveryResult* last = nullptr;  // none: only held ones
  bool succeeded = false;
  unsigned failures = 0;
  platform::Milliseconds rest{};
};

std::map<WebhookId, Execution> executions_of(const Batch& delivery_results) {
  std::map<WebhookId, Execution> result;  // by id: everybody writes these rows in the same order
  for (const auto* delivery_result : delivery_results) {
    auto& execution = result[delivery_result->webhook];
    execution.rest = std::max(execution.rest, delivery_result->rest);
    if (delivery_result->state == DeliveryState::held) continue;  // nothing was executed
    execution.last = delivery_result;
    if (delivery_result->test) continue;
    const bool success = delivery_result->state == DeliveryState::delivered;
    execution.succeeded = execution.succeeded || success;
    execution.failures = success ? 0 : execution.failures + 1;
  }
  return result;
}

json::Value execution_row(WebhookId webhook, const Execution& execution) {
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
  }
  return row;
}

void record_executions(Session& session, const std::map<WebhookId, Execution>& executions) {
  json::Array rows;
  for (const auto& [webhook, execution] : executions) rows.push_back(execution_row(webhook, execution));
  session.update(note_executions, json::dump(rows));
}

/// Webhooks answered 410 by their receiver, or failing for longer than `disable_after`.
std::vector<WebhookId> deactivate(Session& session, const Batch& delivery_results,
                                  const std::map<WebhookId, Execution>& executions,
                                  platform::Milliseconds disable_after) {
  std::set<WebhookId> gone;  // by id: everybody locks in the same order
  for (const auto* delivery_result : delivery_results) {
    if (delivery_result->gone) gone.insert(delivery_result->webhook);
  }
  std::set<WebhookId> deactivated;
  for (const auto webhook : gone) {
    if (session.update(deactivate_webhook, disabled_by_gone, webhook) == 1) deactivated.insert(webhook);
  }
  for (const auto& [webhook, execution] : executions) {
    if (disable_after.count() == 0 || execution.failures == 0) continue;
    if (session.update(deactivate_failing_webhook, disabled_by_failures, webhook, min_failures_to_disable,
                       microseconds(disable_after)) == 1) {
      deactivated.insert(webhook);
    }
  }
  return {deactivated.begin(), deactivated.end()};
}

/// The outcome of a batch whose leases are all its own; throws NotAllOwned.
std::vector<WebhookId> write(Session& session, const Batch& batch, platform::Milliseconds disable_after) {
  Batch by_id = batch;
  std::ranges::sort(by_id, {}, &DeliveryResult::id);  // everybody locks in the same order
  if (update_delivered(session, by_id) + update_others(session, by_id) != batch.size()) throw NotAllOwned();
  insert_attempts(session, by_id);
  const auto executions = executions_of(batch);
  record_executions(session, executions);
  return deactivate(session, batch, executions, disable_after);
}

/// Those still under their lease, in the order given, their rows locked.
Batch lock_owned(Session& session, const Batch& batch) {
  std::vector<DeliveryId> ids;
  ids.reserve(batch.size());
  for (const auto* delivery_result : batch) ids.push_back(delivery_result->id);
  std::ranges::sort(ids);
  std::map<DeliveryId, std::uint64_t> leases;
  for (const auto& row : query_ids(session, leases_of, ids, lock_leased))
    leases.emplace(row.integer("id"), row.unsigned_integer("arriendo"));
  Batch owned;
  for (const auto* delivery_result : batch) {
    const auto lease = leases.find(delivery_result->id);
    if (lease != leases.end() && lease->second == delivery_result->lease) owned.push_back(delivery_result);
  }
  return owned;
}

RecordSummary record_owned(Session& session, const Batch& batch, platform::Milliseconds disable_after) {
  return transaction(session, [&]() -> RecordSummary {
    const auto owned = lock_owned(session, batch);
    RecordSummary result;
    for (const auto* delivery_result : batch)
      result.stale.emplace(delivery_result->id, delivery_result->lease);
    for (const auto* delivery_result : owned)
      result.stale.erase({delivery_result->id, delivery_result->lease});
    if (owned.empty()) return result;
    try {
      result.deactivated = write(session, owned, disable_after);
    } catch (const NotAllOwned&) {
      // The lock is only as wide as one node of a cluster; the count is what the promise rests on.
      throw Conflict(0, "the lease of a delivery changed while its result was being recorded");
    }
    return result;
  });
}

}  // namespace

RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             platform::Milliseconds disable_after) {
  if (delivery_results.empty()) return {};
  Batch batch;
  batch.reserve(delivery_results.size());
  for (const auto& delivery_result : delivery_results) batch.push_back(&delivery_result);
  try {
    // Nearly always every lease is still ours, and the guarded updates alone tell so.
    return transaction(session, [&]() -> RecordSummary {
      return {{}, write(session, batch, disable_after)};
    });
  } catch (const NotAllOwned&) {
    return record_owned(session, batch, disable_after);
  }
}

std::set<WebhookId> find_unlocked(Session& session, const std::vector<DeliveryResult>& delivery_results) {
  std::map<DeliveryId, WebhookId> deliveries;
  std::set<WebhookId> result;
  for (const auto& delivery_result : delivery_results) {
    deliveries.emplace(delivery_result.id, delivery_result.webhook);
    result.insert(delivery_result.webhook);
  }
  /// What of `ids` exists, and is skipped because somebody has it.
  const auto locked = [&](std::string_view sql, const std::vector<std::int64_t>& ids, std::string_view lock) {
    std::set<std::int64_t> found;
    if (ids.empty()) return found;  // no statement for which it would be set
    // Also what somebody has inserted and not committed. For one statement: not for more ids than it takes.
    session.execute("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    for (const auto& row : query_ids(session, sql, ids, "")) found.insert(row.integer("id"));
    for (const auto& row : query_ids(session, sql, ids, lock)) found.erase(row.integer("id"));
    return found;
  };
  const std::vector<WebhookId> webhooks(result.begin(), result.end());
  for (const auto id : locked(executions_by_id, webhooks, if_free_for_change)) result.erase(id);
  for (const auto id : locked(webhooks_by_id, webhooks, if_free_for_share)) result.erase(id);
  std::vector<DeliveryId> ids;
  ids.reserve(deliveries.size());
  for (const auto& [id, webhook] : deliveries) ids.push_back(id);
  for (const auto id : locked(deliveries_by_id, ids, if_free_for_change)) result.erase(deliveries.at(id));
  return result;
}

}  // namespace store
