#include "store/settlement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "store/id_list.hpp"
#include "store/json_rows.hpp"
#include "store/webhooks.hpp"

namespace store {

namespace json = webhook::json;

namespace {

constexpr unsigned min_failures_to_disable = 10;

// The batch as a table; every statement of the transaction reads the part that it needs.
#define BATCH                                                                                                \
  "JSON_TABLE(?, '$[*]' COLUMNS (o FOR ORDINALITY, id BIGINT PATH '$.id', lease BIGINT UNSIGNED PATH "       \
  "'$.lease',"                                                                                               \
  " state VARCHAR(10) PATH '$.state', step INT PATH '$.step', wait_us BIGINT PATH '$.wait', started BIGINT " \
  "PATH"                                                                                                     \
  " '$.started', duration BIGINT PATH '$.duration', address VARCHAR(45) PATH '$.address', status INT PATH"   \
  " '$.status', error VARCHAR(500) PATH '$.error', attempted INT PATH '$.attempted'))"

#define FROM_EPOCH_MS(column) "('1970-01-01' + INTERVAL (" column ") * 1000 MICROSECOND)"

std::string_view state_name(SettledState state) {
  switch (state) {
    case SettledState::delivered:
      return "entregada";
    case SettledState::retry:
      return "pendiente";
    case SettledState::failed:
      return "fallida";
    case SettledState::held:
      return "retenida";
  }
  return "pendiente";
}

std::int64_t microseconds(platform::Milliseconds time) { return std::int64_t{time.count()} * 1000; }

json::Value batch_row(const Settlement& s) {
  return json::Object{{"id", s.id},
                      {"lease", std::to_string(s.lease)},
                      {"state", state_name(s.state)},
                      {"step", static_cast<std::int64_t>(s.failures)},
                      {"wait", microseconds(s.wait)},
                      {"started", std::int64_t{s.started.time_since_epoch().count()}},
                      {"duration", std::int64_t{s.duration.count()}},
                      {"address", s.address},
                      {"status", s.status},
                      {"error", s.error},
                      {"attempted", s.state == SettledState::held ? 0 : 1}};
}

std::string batch_json(const std::vector<const Settlement*>& settlements) {
  json::Array rows;
  for (const auto* settlement : settlements) rows.push_back(batch_row(*settlement));
  return json::dump(rows);
}

/// Those still under their lease, in the order given, their rows locked.
std::vector<const Settlement*> lock_owned(Session& session, const std::vector<Settlement>& settlements) {
  std::vector<DeliveryId> ids;
  ids.reserve(settlements.size());
  for (const auto& settlement : settlements) ids.push_back(settlement.id);
  std::map<DeliveryId, std::uint64_t> leases;
  for (const auto& row : query_ids(session, "SELECT id, arriendo FROM entregas WHERE id IN", ids,
                                   "AND estado = 'en_curso' FOR UPDATE")) {
    leases.emplace(row.integer(0), row.unsigned_integer(1));
  }
  std::vector<const Settlement*> owned;
  for (const auto& settlement : settlements) {
    const auto lease = leases.find(settlement.id);
    if (lease != leases.end() && lease->second == settlement.lease) owned.push_back(&settlement);
  }
  return owned;
}

void insert_attempts(Session& session, const std::string& batch) {
  session.update(
      "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http, error)"
      " SELECT e.id, e.intentos + 1, " FROM_EPOCH_MS(
          "j.started") ", j.duration, j.address, j.status, j.error FROM " BATCH
                       " j STRAIGHT_JOIN entregas e ON e.id = j.id WHERE j.attempted = 1",
      batch);
}

void update_deliveries(Session& session, const std::string& batch, std::size_t count) {
  const auto changed = session.update("UPDATE " BATCH
                                      " j STRAIGHT_JOIN entregas e ON e.id = j.id SET e.estado = j.state, "
                                      "e.intentos = e.intentos + j.attempted, e.paso = j.step,"
                                      " e.proximo_intento = IF(j.state = 'pendiente', UTC_TIMESTAMP(3) + "
                                      "INTERVAL j.wait_us MICROSECOND, e.proximo_intento),"
                                      " e.arriendo = NULL, e.arriendo_hasta = NULL, e.ultimo_estado = "
                                      "IF(j.attempted, j.status, e.ultimo_estado),"
                                      " e.ultimo_error = j.error, e.terminada_en = IF(j.state IN "
                                      "('entregada', 'fallida'), UTC_TIMESTAMP(3), NULL)"
                                      " WHERE e.estado = 'en_curso' AND e.arriendo = j.lease",
                                      batch);
  // The lock above is only as wide as one node of a cluster; this count is what the promise rests on.
  if (changed != count) throw Conflict(0, "a delivery changed hands while it was being settled");
}

/// What a batch says of one webhook: its last attempt, and the failures since its last success.
struct Execution {
  const Settlement* last = nullptr;  // none: only held ones
  bool succeeded = false;
  unsigned failures = 0;
  platform::Milliseconds rest{};
};

std::map<WebhookId, Execution> executions_of(const std::vector<const Settlement*>& settlements) {
  std::map<WebhookId, Execution> result;  // by id: everybody writes these rows in the same order
  for (const auto* settlement : settlements) {
    auto& execution = result[settlement->webhook];
    execution.rest = std::max(execution.rest, settlement->rest);
    if (settlement->state == SettledState::held) continue;  // nothing was executed
    execution.last = settlement;
    if (settlement->test) continue;
    const bool success = settlement->state == SettledState::delivered;
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
  // Assignments run from left to right: the streak is judged before ultima_ejecucion and fallos change. It
  // starts again after a success and after 48 h without an attempt (design 1.1).
  session.update(
      "INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, sondeo, descansa_hasta,"
      " fallos, fallos_desde)"
      " SELECT j.w, " FROM_EPOCH_MS("j.at") ", j.status, COALESCE(j.error, ''), COALESCE(j.probe, 0), UTC_TIMESTAMP(3) + INTERVAL j.rest MICROSECOND,"
      " j.failures, IF(j.failures = 0, NULL, UTC_TIMESTAMP(3))"
      " FROM JSON_TABLE(?, '$[*]' COLUMNS (w BIGINT PATH '$.w', at BIGINT PATH '$.at', status INT PATH '$.status',"
      " error VARCHAR(500) PATH '$.error', probe INT PATH '$.probe', rest BIGINT PATH '$.rest', ok INT PATH '$.ok',"
      " failures INT PATH '$.failures')) j"
      " ON DUPLICATE KEY UPDATE"
      " fallos_desde = IF(j.ok = 0 AND fallos > 0 AND ultima_ejecucion > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR,"
      "  fallos_desde, VALUES(fallos_desde)),"
      " fallos = IF(j.ok = 0 AND fallos > 0 AND ultima_ejecucion > UTC_TIMESTAMP(3) - INTERVAL 48 HOUR, fallos, 0) + j.failures,"
      " ultima_ejecucion = COALESCE(VALUES(ultima_ejecucion), ultima_ejecucion),"
      " ultimo_estado = IF(j.at IS NULL, ultimo_estado, VALUES(ultimo_estado)),"
      " ultimo_error = IF(j.at IS NULL, ultimo_error, VALUES(ultimo_error)), sondeo = IF(j.at IS NULL, sondeo, VALUES(sondeo)),"
      " descansa_hasta = GREATEST(COALESCE(VALUES(descansa_hasta), descansa_hasta),"
      "  COALESCE(descansa_hasta, VALUES(descansa_hasta)))",
      json::dump(rows));
}

/// Webhooks answered 410 by their receiver, or failing for longer than `disable_after`.
std::vector<WebhookId> deactivate(Session& session, const std::vector<const Settlement*>& settlements,
                                  const std::map<WebhookId, Execution>& executions,
                                  platform::Milliseconds disable_after) {
  std::set<WebhookId> deactivated;
  for (const auto* settlement : settlements) {
    if (settlement->gone &&
        session.update(
            "UPDATE webhooks SET activo = FALSE, motivo = ? WHERE id = ? AND activo AND plaza IS NOT NULL",
            disabled_by_gone, settlement->webhook) == 1) {
      deactivated.insert(settlement->webhook);
    }
  }
  for (const auto& [webhook, execution] : executions) {
    if (disable_after.count() == 0 || execution.failures == 0) continue;
    if (session.update("UPDATE webhooks w JOIN webhook_ejecuciones x ON x.webhook_id = w.id SET w.activo = "
                       "FALSE, w.motivo = ?"
                       " WHERE w.id = ? AND w.activo AND w.plaza IS NOT NULL AND x.fallos >= ?"
                       " AND x.fallos_desde <= UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND",
                       disabled_by_failures, webhook, min_failures_to_disable,
                       microseconds(disable_after)) == 1) {
      deactivated.insert(webhook);
    }
  }
  return {deactivated.begin(), deactivated.end()};
}

}  // namespace

SettleResult settle(Session& session, const std::vector<Settlement>& settlements,
                    platform::Milliseconds disable_after) {
  if (settlements.empty()) return {};
  return transaction(session, [&]() -> SettleResult {
    const auto owned = lock_owned(session, settlements);
    SettleResult result{settlements.size() - owned.size(), {}};
    if (owned.empty()) return result;
    const std::string batch = batch_json(owned);
    insert_attempts(session, batch);
    update_deliveries(session, batch, owned.size());
    const auto executions = executions_of(owned);
    record_executions(session, executions);
    result.deactivated = deactivate(session, owned, executions, disable_after);
    return result;
  });
}

}  // namespace store
