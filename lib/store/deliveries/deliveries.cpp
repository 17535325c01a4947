#include "lib/store/deliveries/deliveries.hpp"

#include <algorithm>

#include "lib/store/cancelled.hpp"
#include "lib/store/due_anew.hpp"
#include "lib/store/retries.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

namespace {

// An urgent delivery has a `proximo_intento` an hour before its creation.

/// The newest deliveries that match a filter, oldest first.
constexpr std::string_view filtered_deliveries = R"sql(
  SELECT * FROM (
    SELECT e.id, e.webhook_id, e.notificacion_id, n.evento, e.estado, e.intentos,
      IF(e.estado = 'pendiente', CAST(GREATEST(e.proximo_intento, e.creada_en) AS CHAR), NULL) AS proximo_intento,
      e.ultimo_estado, e.ultimo_error, CAST(e.creada_en AS CHAR) AS creada_en
    FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
    WHERE (? IS NULL OR n.entidad_id = ?) AND (? IS NULL OR e.webhook_id = ?)
      AND (? IS NULL OR e.notificacion_id = ?) AND (? IS NULL OR e.estado = ?)
      AND (? IS NULL OR e.creada_en >= ?)
    ORDER BY e.id DESC LIMIT ?) newest
  ORDER BY id)sql";
constexpr std::string_view delivery_by_id = R"sql(
  SELECT e.id, e.webhook_id, e.notificacion_id, n.evento, e.estado, e.intentos,
    IF(e.estado = 'pendiente', CAST(GREATEST(e.proximo_intento, e.creada_en) AS CHAR), NULL) AS proximo_intento,
    e.ultimo_estado, e.ultimo_error, CAST(e.creada_en AS CHAR) AS creada_en
  FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.id = ?)sql";

constexpr std::string_view attempts_of_delivery = R"sql(
  SELECT numero, tipo, sondeos, CAST(inicio AS CHAR) AS inicio, duracion_ms, direccion, estado_http, error,
    firmas
  FROM intentos_entrega WHERE entrega_id = ? ORDER BY numero)sql";
constexpr std::string_view newest_attempts = R"sql(
  SELECT numero, tipo, sondeos, CAST(inicio AS CHAR) AS inicio, duracion_ms, direccion, estado_http, error,
    firmas
  FROM intentos_entrega WHERE entrega_id = ? ORDER BY numero DESC LIMIT ?)sql";

constexpr std::string_view newest_and_due = R"sql(
  (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook) WHERE webhook_id = ? ORDER BY id DESC LIMIT ?)
  UNION
  (SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar)
   WHERE espera = 'pendiente' AND webhook_id = ? ORDER BY proximo_intento, id LIMIT ?))sql";
constexpr std::string_view attempts_since = R"sql(
  SELECT e.id, e.webhook_id, e.notificacion_id, n.evento, e.estado, e.intentos,
    IF(e.estado = 'pendiente', CAST(GREATEST(e.proximo_intento, e.creada_en) AS CHAR), NULL) AS proximo_intento,
    e.ultimo_estado, e.ultimo_error, CAST(e.creada_en AS CHAR) AS creada_en,
    i.numero, i.tipo, i.sondeos, CAST(i.inicio AS CHAR) AS inicio, i.duracion_ms, i.direccion, i.estado_http,
    i.error, i.firmas
  FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = e.id
  WHERE i.inicio >= ? ORDER BY i.inicio DESC, i.entrega_id DESC, i.numero DESC LIMIT ?)sql";

constexpr std::string_view lock_delivery = R"sql(
  SELECT e.estado, e.notificacion_id, w.plaza
  FROM entregas e JOIN webhooks w ON w.id = e.webhook_id
  WHERE e.id = ? FOR UPDATE)sql";
constexpr std::string_view select = "SELECT ";
/// Reads without a lock, so a replay may not see a cancellation that is being committed. `notification
/// cancel` undoes such a replay: after its commit, the command cancels the notification's deliveries again.
constexpr std::string_view of_notification = R"sql( AS cancelada
  FROM notificaciones_pendientes n WHERE n.id = ?)sql";
constexpr auto notification_is_cancelled = joined<select, sent_no_more, of_notification>;

// A replayed delivery is due now and starts its schedule again; while its webhook is inactive, it is held.

constexpr std::string_view pending_or_held = "e.estado = IF(w.activo, 'pendiente', 'retenida'), ";
constexpr std::string_view delivery_and_webhook =
    "UPDATE entregas e JOIN webhooks w ON w.id = e.webhook_id SET ";
constexpr std::string_view of_id = " WHERE e.id = ?";
constexpr std::string_view replay_delivery =
    joined<delivery_and_webhook, keep_first_success, pending_or_held, due_as_replay, of_id>;
/// The index has neither `creada_en` nor `entregada_en`, so the statement also reads the failed deliveries
/// that these two conditions exclude. Each batch begins after the last row of the batch before, so that it
/// does not read those deliveries again.
constexpr std::string_view some_failed = R"sql(
  SELECT id, CAST(proximo_intento AS CHAR) AS vence FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'fallida' AND webhook_id = ? AND creada_en >= ? AND entregada_en IS NULL
    AND proximo_intento >= ? AND (proximo_intento > ? OR id > ?)
  ORDER BY proximo_intento, id LIMIT ?)sql";
constexpr std::string_view update = "UPDATE";
constexpr std::string_view count = "SELECT COUNT(*) AS contadas FROM";
constexpr std::string_view deliveries_by_id = R"sql(
  JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id )sql";
constexpr std::string_view and_webhook =
    "STRAIGHT_JOIN webhooks w FORCE INDEX (PRIMARY) ON w.id = e.webhook_id ";
constexpr std::string_view set = "SET ";
constexpr std::string_view if_failed = " WHERE e.estado = 'fallida'";
constexpr std::string_view replay_failed =
    joined<update, deliveries_by_id, and_webhook, set, pending_or_held, due_as_replay, if_failed>;
constexpr std::string_view if_retry_since =
    " WHERE e.estado = 'pendiente' AND e.paso > 0 AND e.creada_en >= ?";
/// Does not join the webhook, because the join would lock its row for share.
constexpr std::string_view hasten_retries = joined<update, deliveries_by_id, set, due_anew, if_retry_since>;
constexpr std::string_view count_retries = joined<count, deliveries_by_id, if_retry_since>;

Delivery read_delivery(const Row& row) {
  return {row.integer("id"),
          row.integer("webhook_id"),
          row.integer("notificacion_id"),
          row.text("evento"),
          row.text("estado"),
          row.integer("intentos"),
          row.optional_time("proximo_intento"),
          row.optional_integer("ultimo_estado"),
          row.text("ultimo_error"),
          row.time("creada_en")};
}

RecordedAttempt read_attempt(const Row& row) {
  return {row.integer("numero"),
          row.text("tipo"),
          row.optional_integer("sondeos"),
          row.time("inicio"),
          row.integer("duracion_ms"),
          row.optional_text("direccion"),
          row.optional_integer("estado_http"),
          row.text("error"),
          row.optional_integer("firmas")};
}

std::uint64_t replay_all_failed(Session& session, WebhookId webhook, UtcTime since, Bulk bulk) {
  std::uint64_t changed = 0;
  UtcTime due{};
  DeliveryId last = 0;
  for (;;) {
    const auto rows = session.query(some_failed, webhook, since, due, due, last, batch_rows);
    if (rows.empty()) return changed;
    const auto ids = ids_in<DeliveryId>(rows);
    changed += bulk == Bulk::count
                   ? ids.size()
                   : transaction(session, [&] { return session.update(replay_failed, json_ids(ids)); });
    if (ids.size() < batch_rows) return changed;
    due = rows.back().time("vence");
    last = ids.back();
  }
}

std::uint64_t hasten_all_retries(Session& session, WebhookId webhook, UtcTime since, Bulk bulk) {
  std::uint64_t changed = 0;
  for (auto ids = find_retries(session, webhook, 0); !ids.empty();
       ids = find_retries(session, webhook, ids.back()))
    changed +=
        bulk == Bulk::count
            ? session.query(count_retries, json_ids(ids), since).at(0).unsigned_integer("contadas")
            : transaction(session, [&] { return session.update(hasten_retries, json_ids(ids), since); });
  return changed;
}

}  // namespace

std::vector<Delivery> list_deliveries(Session& session, const ListFilter& filter) {
  std::vector<Delivery> result;
  for (const auto& row : session.query(filtered_deliveries, filter.entity, filter.entity, filter.webhook,
                                       filter.webhook, filter.notification, filter.notification, filter.state,
                                       filter.state, filter.since, filter.since, filter.limit)) {
    result.push_back(read_delivery(row));
  }
  return result;
}

std::optional<Delivery> find_delivery(Session& session, DeliveryId id) {
  const auto rows = session.query(delivery_by_id, id);
  if (rows.empty()) return std::nullopt;
  return read_delivery(rows.front());
}

std::vector<RecordedAttempt> list_attempts(Session& session, DeliveryId id) {
  std::vector<RecordedAttempt> result;
  for (const auto& row : session.query(attempts_of_delivery, id)) result.push_back(read_attempt(row));
  return result;
}

std::vector<RecordedAttempt> list_newest_attempts(Session& session, DeliveryId id, unsigned limit) {
  std::vector<RecordedAttempt> result;
  for (const auto& row : session.query(newest_attempts, id, limit)) result.push_back(read_attempt(row));
  std::ranges::reverse(result);
  return result;
}

std::vector<DeliveryId> find_next_attempted(Session& session, WebhookId webhook) {
  auto ids = ids_in<DeliveryId>(session.query(newest_and_due, webhook, batch_rows, webhook, batch_rows));
  const auto retries = find_retries(session, webhook, 0);
  ids.insert(ids.end(), retries.begin(), retries.end());
  return ids;
}

std::vector<AttemptOfDelivery> list_attempts_since(Session& session,
                                                   const std::vector<DeliveryId>& deliveries, UtcTime since,
                                                   unsigned limit) {
  std::vector<AttemptOfDelivery> result;
  for (const auto& row : session.query(attempts_since, json_ids(deliveries), since, limit))
    result.push_back({read_delivery(row), read_attempt(row)});
  std::ranges::reverse(result);
  return result;
}

DeliveryChange retry_delivery(Session& session, DeliveryId id) {
  return transaction(session, [&] {
    const auto rows = session.query(lock_delivery, id);
    if (rows.empty()) return DeliveryChange::not_found;
    const auto& row = rows.front();
    if (row.null("plaza")) return DeliveryChange::webhook_deleted;
    const auto& state = row.text("estado");
    const auto notification = row.integer("notificacion_id");
    if (state == "en_curso" || state == "retenida" ||
        session.query(notification_is_cancelled, notification).at(0).boolean("cancelada"))
      return DeliveryChange::wrong_state;
    session.update(replay_delivery, id);
    return DeliveryChange::done;
  });
}

std::optional<std::uint64_t> retry_failed_deliveries(Session& session, WebhookId webhook, UtcTime since,
                                                     Bulk bulk) {
  if (!find_webhook(session, webhook)) return std::nullopt;
  const auto replayed = replay_all_failed(session, webhook, since, bulk);
  return replayed + hasten_all_retries(session, webhook, since, bulk);
}

}  // namespace store
