#include "lib/store/deliveries/results.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "lib/store/deliveries/former_urls.hpp"
#include "lib/store/deliveries/result_locks.hpp"
#include "lib/store/replays/open_deliveries.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

namespace {

constexpr platform::Milliseconds long_wait{500};  // for a lock: MySQL's least is a second

// Whatever is in the way, MariaDB says so at once; the least wait of MySQL, for which that is a comment, is a
// second. Not set for the session: MariaDB's SKIP LOCKED would end with error 1180 (seen on 10.11).

constexpr std::string_view set_delivered = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]',
    status INT PATH '$[2]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = 'entregada', e.intentos = e.intentos + 1, e.arriendo = NULL, e.arriendo_hasta = NULL,
    e.ultimo_estado = j.status, e.ultimo_error = '', e.terminada_en = UTC_TIMESTAMP(3),
    e.entregada_en = COALESCE(e.entregada_en, UTC_TIMESTAMP(3))
  WHERE e.estado = 'en_curso' AND e.arriendo = j.lease)sql";

/// A replay that fails does not undo a delivery.
constexpr std::string_view set_not_delivered = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]',
    state VARCHAR(10) PATH '$[2]', step INT PATH '$[3]', wait_us BIGINT PATH '$[4]', status INT PATH '$[5]',
    error VARCHAR(500) PATH '$[6]', attempted INT PATH '$[7]', kind VARCHAR(10) PATH '$[8]',
    asked_us BIGINT PATH '$[9]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = IF(j.state = 'fallida' AND e.entregada_en IS NOT NULL, 'entregada', j.state), e.intentos = e.intentos + j.attempted, e.paso = j.step,
    e.adelantada = e.adelantada AND j.kind <> IF(j.attempted, 'programado', 'adelantado'),
    e.no_antes = IF(j.attempted, UTC_TIMESTAMP(3) + INTERVAL j.asked_us MICROSECOND, e.no_antes),
    e.proximo_intento = IF(j.state <> 'pendiente', e.proximo_intento,
      GREATEST(COALESCE(UTC_TIMESTAMP(3) + INTERVAL j.wait_us MICROSECOND, e.proximo_intento),
        COALESCE(UTC_TIMESTAMP(3) + INTERVAL j.asked_us MICROSECOND, e.proximo_intento))),
    e.arriendo = NULL, e.arriendo_hasta = NULL,
    e.ultimo_estado = IF(j.attempted, j.status, e.ultimo_estado),
    e.ultimo_error = IF(j.state = 'fallida' AND e.entregada_en IS NOT NULL, '', j.error),
    e.terminada_en = IF(j.state = 'fallida', UTC_TIMESTAMP(3), NULL)
  WHERE e.estado = 'en_curso' AND e.arriendo = j.lease)sql";

constexpr std::string_view add_attempts = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  INSERT INTO intentos_entrega (entrega_id, numero, tipo, inicio, duracion_ms, direccion, estado_http, error,
    firmas)
  SELECT j.id, j.number, j.kind, '1970-01-01' + INTERVAL j.started * 1000 MICROSECOND, j.duration, j.address,
    j.status, j.error, j.signatures
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', number INT PATH '$[1]',
    started BIGINT PATH '$[2]', duration BIGINT PATH '$[3]', address VARCHAR(45) PATH '$[4]',
    status INT PATH '$[5]', error VARCHAR(500) PATH '$[6]', kind VARCHAR(10) PATH '$[7]',
    signatures INT PATH '$[8]')) j)sql";

// Of probes that fail one after the other, the first and the last are kept.

constexpr std::string_view add_failed_probes = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  INSERT INTO intentos_entrega
    (entrega_id, numero, tipo, sondeos, inicio, duracion_ms, direccion, estado_http, error, firmas)
  SELECT j.id, j.number, 'sondeo', COALESCE(p.sondeos, 0) + 1,
    '1970-01-01' + INTERVAL j.started * 1000 MICROSECOND, j.duration, j.address, j.status, j.error,
    j.signatures
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', number INT PATH '$[1]',
    started BIGINT PATH '$[2]', duration BIGINT PATH '$[3]', address VARCHAR(45) PATH '$[4]',
    status INT PATH '$[5]', error VARCHAR(500) PATH '$[6]', signatures INT PATH '$[8]')) j
  LEFT JOIN intentos_entrega p ON p.entrega_id = j.id AND p.numero = j.number - 1)sql";
constexpr std::string_view drop_former_probes = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  DELETE i FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', number INT PATH '$[1]')) j
  STRAIGHT_JOIN intentos_entrega i ON i.entrega_id = j.id AND i.numero = j.number - 1
  WHERE i.sondeos > 1)sql";

/// Assignments run from left to right: the streak, and whether this is a recovery, are judged before
/// ultimo_error, fallos_ultimo and fallos change. The streak starts again after a success and after 48 h
/// without a failure that counts.
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
    fallos = IF(j.ok = 0 AND fallos > 0
        AND )sql";
constexpr std::string_view or_count = R"sql(,
      fallos, 0) + j.failures,
    fallos_ultimo = IF(j.failures > 0, UTC_TIMESTAMP(3), fallos_ultimo),
    ultima_ejecucion = COALESCE(VALUES(ultima_ejecucion), ultima_ejecucion),
    ultimo_estado = IF(j.at IS NULL, ultimo_estado, VALUES(ultimo_estado)),
    ultimo_error = IF(j.at IS NULL, ultimo_error, VALUES(ultimo_error)),
    sondeo = IF(j.at IS NULL, sondeo, VALUES(sondeo)),
    descansa_hasta = GREATEST(COALESCE(VALUES(descansa_hasta), descansa_hasta),
      COALESCE(descansa_hasta, VALUES(descansa_hasta))))sql";
constexpr std::string_view note_executions =
    joined<insert_executions, streak_goes_on, or_since, streak_goes_on, or_count>;

/// A 410 is the answer of one URL.
constexpr std::string_view deactivate_webhook = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE webhooks SET activo = FALSE, motivo = ?
  WHERE id = ? AND activo AND plaza IS NOT NULL AND (? IS NULL OR url = ?))sql";
/// Those that were held for the same reason before, and have been released to see whether it is still there.
constexpr std::string_view held_before = R"sql(
  SELECT e.id
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', error VARCHAR(500) PATH '$[1]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  WHERE e.ultimo_error = j.error COLLATE utf8mb4_bin)sql";

std::int64_t microseconds(platform::Milliseconds time) { return std::int64_t{time.count()} * 1000; }
std::optional<std::int64_t> microseconds(const std::optional<platform::Milliseconds>& time) {
  return time ? std::optional(microseconds(*time)) : std::nullopt;
}

using Batch = ResultBatch;

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

bool was_attempted(const DeliveryResult& s) { return s.counted && s.state != DeliveryState::held; }
bool is_failed_probe(const DeliveryResult& s) {
  return was_attempted(s) && !is_delivered(s) && s.kind == delivery::AttemptKind::probe;
}

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
        return json::Array{s.id,
                           std::to_string(s.lease),
                           name(s.state),
                           static_cast<std::int64_t>(s.failures),
                           microseconds(s.wait),
                           s.status,
                           s.error,
                           was_attempted(s) ? 1 : 0,
                           name(s.kind),
                           microseconds(s.retry_after)};
      });
  if (rows.empty()) return 0;
  return session.update(set_not_delivered, json::dump(rows));
}

std::set<DeliveryId> held_again(Session& session, const Batch& batch) {
  const auto rows = rows_of(
      batch, [](const DeliveryResult& s) { return s.state == DeliveryState::held; },
      [](const DeliveryResult& s) {
        return json::Array{s.id, s.error};
      });
  std::set<DeliveryId> again;
  if (rows.empty()) return again;
  for (const auto& row : session.query(held_before, json::dump(rows))) again.insert(row.integer("id"));
  return again;
}

json::Value attempt_row(const DeliveryResult& s) {
  return json::Array{s.id,
                     std::int64_t{s.attempts} + 1,
                     std::int64_t{s.started.time_since_epoch().count()},
                     std::int64_t{s.duration.count()},
                     s.address,
                     s.status,
                     s.error,
                     evidence_name(s.kind, s.replay),
                     static_cast<std::int64_t>(s.signatures)};
}

void insert_attempts(Session& session, const Batch& batch) {
  const auto others = rows_of(
      batch, [](const DeliveryResult& s) { return was_attempted(s) && !is_failed_probe(s); }, attempt_row);
  if (!others.empty()) session.update(add_attempts, json::dump(others));
  const auto probes = rows_of(batch, is_failed_probe, attempt_row);
  if (probes.empty()) return;
  session.update(add_failed_probes, json::dump(probes));
  session.update(drop_former_probes, json::dump(probes));
}

/// What a batch says of one webhook: its last attempt, and the failures since its last success.
struct Execution {
  const DeliveryResult* last = nullptr;  // none: only held ones
  bool succeeded = false;
  unsigned failures = 0;
  bool any_failed = false;  // whatever counts
  platform::Milliseconds rest{};
};

/// What has ended of replays; most batches have none.
void note_ended_replays(Session& session, const Batch& batch) {
  std::vector<Outcome> outcomes;
  for (const auto* result : batch) {
    if (result->replay && (is_delivered(*result) || result->state == DeliveryState::failed))
      outcomes.push_back({result->id, is_delivered(*result)});
  }
  note_outcomes(session, outcomes);
}

std::map<WebhookId, Execution> executions_of(const Batch& delivery_results) {
  std::map<WebhookId, Execution> result;  // by id: everybody writes these rows in the same order
  for (const auto* delivery_result : delivery_results) {
    if (!delivery_result->counted || delivery_result->former_url) continue;
    auto& execution = result[delivery_result->webhook];
    execution.rest = std::max(execution.rest, delivery_result->rest);
    if (!was_attempted(*delivery_result)) continue;  // nothing was executed
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

/// From when on what waits is tried ahead of its schedule: all of it, after a success that follows failures;
/// one delivery, after a failure. none: not, or as before.
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

void record_executions(Session& session, const std::map<WebhookId, Execution>& executions,
                       const FailurePolicy& policy) {
  if (executions.empty()) return;
  json::Array rows;
  for (const auto& [webhook, execution] : executions)
    rows.push_back(execution_row(webhook, execution, policy));
  session.update(note_executions, json::dump(rows));
}

/// Those that have failed for longer than `disable_after`. One whose row somebody holds is judged again at
/// its next failure.
std::vector<WebhookId> lock_failing(Session& session, const std::map<WebhookId, Execution>& executions,
                                    platform::Milliseconds disable_after) {
  std::vector<WebhookId> failed;
  for (const auto& [webhook, execution] : executions) {
    if (execution.failures > 0) failed.push_back(webhook);
  }
  auto failing = find_due_for_deactivation(session, failed, disable_after);  // it is nearly always none
  std::ranges::sort(failing);  // everybody locks in the same order
  return lock_webhooks(session, failing);
}

/// Webhooks answered 410 by their receiver, or failing for longer than `disable_after`.
std::vector<WebhookId> deactivate(Session& session, const Batch& batch,
                                  const std::map<WebhookId, Execution>& executions,
                                  platform::Milliseconds disable_after) {
  struct Reason {
    std::string_view name;
    std::optional<std::string> url{};  // while it has that one
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

/// Some of a batch were no longer under their lease, so nothing was written.
struct NotAllOwned {};

/// What there is to say of those that were written. Throws NotAllOwned.
RecordSummary write(Session& session, const Batch& results, const FailurePolicy& policy) {
  const auto judged = judge_urls(session, results);
  const auto& batch = judged.batch;
  Batch by_id = batch;
  std::ranges::sort(by_id, {}, &DeliveryResult::id);  // everybody locks in the same order
  RecordSummary summary{.held_again = held_again(session, by_id)};
  if (update_delivered(session, by_id) + update_others(session, by_id) != batch.size()) throw NotAllOwned();
  insert_attempts(session, by_id);
  note_ended_replays(session, by_id);
  const auto executions = executions_of(batch);
  record_executions(session, executions, policy);
  summary.deactivated = deactivate(session, batch, executions, policy.disable_after);
  for (const auto& result : judged.former) summary.former_url.emplace(result.id, result.lease);
  return summary;
}

void add_keys(std::set<ResultKey>& keys, const Batch& batch) {
  for (const auto* delivery_result : batch) keys.emplace(delivery_result->id, delivery_result->lease);
}

/// Records what nobody holds, in one transaction. What was passed over because its webhook has no row that
/// could be locked; with `absent` none, because there is none yet.
Batch record_unlocked(Session& session, const Batch& batch, bool absent, const FailurePolicy& policy,
                      RecordSummary& summary) {
  LockedResults locked;
  auto written = transaction(session, [&]() -> RecordSummary {
    locked = lock_results(session, batch, absent);
    if (locked.owned.empty()) return {};
    try {
      return write(session, locked.owned, policy);
    } catch (const NotAllOwned&) {
      // The lock is only as wide as one node of a cluster; the count is what the promise rests on.
      throw Conflict(0, "the lease of a delivery changed while its result was being recorded");
    }
  });
  add_keys(summary.stale, locked.stale);
  add_keys(summary.held, locked.held);
  summary.held_again.merge(written.held_again);
  summary.former_url.merge(written.former_url);
  summary.deactivated.insert(summary.deactivated.end(), written.deactivated.begin(),
                             written.deactivated.end());
  return locked.unwritten;
}

/// The same. What no lock told of beforehand (a gap, a row that is inserted at this moment) is found by
/// halves: on MariaDB that takes no time.
Batch record_by_halves(Session& session, const Batch& batch, bool absent, const FailurePolicy& policy,
                       RecordSummary& summary) {
  const auto start = platform::monotonic_now();
  try {
    return record_unlocked(session, batch, absent, policy, summary);
  } catch (const LockTimeout&) {
    if (batch.size() == 1) {
      const bool waited = platform::monotonic_now() - start >= long_wait;
      add_keys(waited ? summary.waited : summary.held, batch);
      return {};
    }
  }
  const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
  auto unwritten = record_by_halves(session, {batch.begin(), middle}, absent, policy, summary);
  const auto rest = record_by_halves(session, {middle, batch.end()}, absent, policy, summary);
  unwritten.insert(unwritten.end(), rest.begin(), rest.end());
  return unwritten;
}

/// Nearly always nobody holds anything and every lease is still ours: the guarded updates alone tell so, for
/// an eighth less time than with locks first. nullopt: nothing was recorded.
std::optional<RecordSummary> record_all(Session& session, const Batch& batch, const FailurePolicy& policy) {
  if (!session.is_mariadb()) return std::nullopt;  // it would wait for what is held
  try {
    return transaction(session, [&] { return write(session, batch, policy); });
  } catch (const LockTimeout&) {
    return std::nullopt;
  } catch (const NotAllOwned&) {
    return std::nullopt;
  }
}

}  // namespace

RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             const FailurePolicy& policy) {
  if (delivery_results.empty()) return {};
  Batch batch;
  batch.reserve(delivery_results.size());
  for (const auto& delivery_result : delivery_results) batch.push_back(&delivery_result);
  if (auto done = record_all(session, batch, policy)) return *std::move(done);
  RecordSummary summary;
  const auto unwritten = record_by_halves(session, batch, false, policy, summary);
  const auto first = without_execution(session, unwritten);
  add_keys(summary.held, unwritten);
  for (const auto* delivery_result : first) summary.held.erase({delivery_result->id, delivery_result->lease});
  if (!first.empty()) record_by_halves(session, first, true, policy, summary);
  return summary;
}

}  // namespace store
