#include "lib/store/deliveries/result_rows.hpp"

#include <limits>
#include <string>

#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/keys.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

using delivery::DeliveryResult;
using delivery::DeliveryState;

namespace {

// Counters stay at their largest value, 4294967295 (most_attempts): beyond it the database would refuse the
// result, and the delivery would be sent again after each lease.

/// An attempt after this number leaves no row in intentos_entrega.
constexpr std::uint32_t most_attempts = std::numeric_limits<std::uint32_t>::max();

/// Does not write `entregada_en`: until the delivery is replayed, `terminada_en` has the same time, and a
/// replay copies it to `entregada_en` (keep_first_success in lib/store/due_anew.hpp). With both columns the
/// row would outgrow its place in the page, and the update would write four times as much redo log.
constexpr std::string_view set_delivered = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]',
    status INT PATH '$[2]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = 'entregada', e.intentos = LEAST(e.intentos + 1, 4294967295), e.arriendo = NULL, e.arriendo_hasta = NULL,
    e.ultimo_estado = j.status, e.ultimo_error = '', e.terminada_en = UTC_TIMESTAMP(3)
  WHERE e.estado = 'en_curso' AND e.arriendo = j.lease)sql";

/// A delivery with a 2xx stays delivered when its replay fails.
constexpr std::string_view set_not_delivered = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]',
    state VARCHAR(10) PATH '$[2]', step BIGINT PATH '$[3]', wait_us BIGINT PATH '$[4]', status INT PATH '$[5]',
    error VARCHAR(500) PATH '$[6]', attempted INT PATH '$[7]', kind VARCHAR(10) PATH '$[8]',
    asked_us BIGINT PATH '$[9]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = IF(j.state = 'fallida' AND e.entregada_en IS NOT NULL, 'entregada', j.state),
    e.intentos = LEAST(e.intentos + j.attempted, 4294967295), e.paso = LEAST(j.step, 4294967295),
    e.adelantada = e.adelantada AND NOT (j.attempted AND j.kind = 'programado'),
    e.no_antes = IF(j.attempted, UTC_TIMESTAMP(3) + INTERVAL j.asked_us MICROSECOND, e.no_antes),
    e.proximo_intento = IF(j.state <> 'pendiente', GREATEST(e.proximo_intento, TIMESTAMP'1970-01-01 00:00:00'),
      GREATEST(TIMESTAMP'1970-01-01 00:00:00',
        COALESCE(UTC_TIMESTAMP(3) + INTERVAL j.wait_us MICROSECOND, IF(j.attempted, e.prevista, NULL), e.proximo_intento),
        COALESCE(UTC_TIMESTAMP(3) + INTERVAL j.asked_us MICROSECOND, e.proximo_intento))),
    e.prevista = IF(j.attempted OR j.state <> 'pendiente', NULL, e.prevista),
    e.arriendo = NULL, e.arriendo_hasta = NULL,
    e.ultimo_estado = IF(j.attempted, j.status, e.ultimo_estado),
    e.ultimo_error = IF(j.state = 'fallida' AND e.entregada_en IS NOT NULL, '', j.error),
    e.terminada_en = IF(j.state = 'fallida', UTC_TIMESTAMP(3), NULL)
  WHERE e.estado = 'en_curso' AND e.arriendo = j.lease)sql";

constexpr std::string_view add_attempts =
    "INSERT INTO intentos_entrega"
    " (entrega_id, numero, inicio, duracion_ms, direccion, estado_http, error, tipo, firmas) VALUES";
constexpr std::string_view attempt = "(?, ?, ?, ?, ?, ?, ?, ?, ?)";

// The next two statements keep only the first and the last of consecutive failed probes.

constexpr std::string_view add_failed_probes = R"sql(
  INSERT INTO intentos_entrega
    (entrega_id, numero, tipo, sondeos, inicio, duracion_ms, direccion, estado_http, error, firmas)
  SELECT j.id, j.number, 'sondeo', LEAST(COALESCE(p.sondeos, 0) + 1, 4294967295),
    '1970-01-01' + INTERVAL j.started * 1000 MICROSECOND, j.duration, j.address, j.status, j.error,
    j.signatures
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', number BIGINT PATH '$[1]',
    started BIGINT PATH '$[2]', duration BIGINT PATH '$[3]', address VARCHAR(45) PATH '$[4]',
    status INT PATH '$[5]', error VARCHAR(500) PATH '$[6]', signatures INT PATH '$[7]')) j
  LEFT JOIN intentos_entrega p FORCE INDEX (PRIMARY) ON p.entrega_id = j.id AND p.numero = j.number - 1)sql";
constexpr std::string_view drop_former_probes = R"sql(
  DELETE i FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', number BIGINT PATH '$[1]')) j
  STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = j.id AND i.numero = j.number - 1
  WHERE i.sondeos > 1)sql";

/// Deliveries that were held for the same reason before, and then released to check whether the reason still
/// applies.
constexpr std::string_view held_before = R"sql(
  SELECT e.id
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', error VARCHAR(500) PATH '$[1]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  WHERE e.ultimo_error = j.error COLLATE utf8mb4_bin)sql";

/// Returns one JSON array, made by `row`, for each result that `wanted` selects.
template <class Wanted, class MakeRow>
json::Array rows_of(const ResultBatch& batch, Wanted&& wanted, MakeRow&& row) {
  json::Array rows;
  for (const auto* delivery_result : batch) {
    if (wanted(*delivery_result)) rows.push_back(row(*delivery_result));
  }
  return rows;
}

bool leaves_evidence(const DeliveryResult& s) { return was_attempted(s) && s.attempts < most_attempts; }

bool is_failed_probe(const DeliveryResult& s) {
  return leaves_evidence(s) && !is_delivered(s) && s.kind == delivery::AttemptKind::probe;
}

/// Most attempts deliver, so their results have a statement of their own, which is shorter.
std::uint64_t update_delivered(Session& session, const ResultBatch& batch) {
  const auto rows = rows_of(batch, delivery::is_delivered, [](const DeliveryResult& s) {
    return json::Array{s.id, std::to_string(s.lease), s.status};
  });
  if (rows.empty()) return 0;
  return session.update(without_waiting<set_delivered>, json::dump(rows));
}

std::uint64_t update_others(Session& session, const ResultBatch& batch) {
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
  return session.update(without_waiting<set_not_delivered>, json::dump(rows));
}

std::vector<Parameter> parameters_of_attempts(const ResultBatch& batch) {
  std::vector<Parameter> values;
  for (const auto* s : batch) {
    if (!leaves_evidence(*s) || is_failed_probe(*s)) continue;
    append_row(values, s->id, std::int64_t{s->attempts} + 1, s->started, std::int64_t{s->duration.count()},
               s->address, s->status, s->error, evidence_name(s->kind, s->replay),
               std::int64_t{s->signatures});
  }
  return values;
}

json::Value failed_probe_row(const DeliveryResult& s) {
  return json::Array{s.id,
                     std::int64_t{s.attempts} + 1,
                     std::int64_t{s.started.time_since_epoch().count()},
                     std::int64_t{s.duration.count()},
                     s.address,
                     s.status,
                     s.error,
                     static_cast<std::int64_t>(s.signatures)};
}

}  // namespace

std::uint64_t update_deliveries(Session& session, const ResultBatch& batch) {
  return update_delivered(session, batch) + update_others(session, batch);
}

void insert_attempts(Session& session, const ResultBatch& batch) {
  const auto others = parameters_of_attempts(batch);
  for (const auto rows : chunks_of_rows(attempt, others))
    insert_rows(session, without_waiting<add_attempts>, attempt, rows);
  const auto probes = rows_of(batch, is_failed_probe, failed_probe_row);
  if (probes.empty()) return;
  session.update(without_waiting<add_failed_probes>, json::dump(probes));
  session.update(without_waiting<drop_former_probes>, json::dump(probes));
}

std::set<DeliveryId> find_held_again(Session& session, const ResultBatch& batch) {
  const auto rows = rows_of(
      batch, [](const DeliveryResult& s) { return s.state == DeliveryState::held; },
      [](const DeliveryResult& s) {
        return json::Array{s.id, s.error};
      });
  if (rows.empty()) return {};
  return ids_in<DeliveryId, std::set>(session.query(held_before, json::dump(rows)));
}

}  // namespace store
