#include "store/deliveries/deliveries.hpp"

#include "store/session/batches.hpp"
#include "store/webhooks/webhooks.hpp"

namespace store {

namespace {

#define DELIVERY_COLUMNS                                                                  \
  "e.id, e.webhook_id, e.notificacion_id, n.evento, e.estado, e.intentos, IF(e.estado = " \
  "'pendiente', " STORE_EPOCH_MS(                                                         \
      "e.proximo_intento") ", NULL), e.ultimo_estado, e.ultimo_error, " STORE_EPOCH_MS("e.creada_en")

Delivery read_delivery(const Row& row) {
  return {row.integer(0), row.integer(1),       row.integer(2),          row.text(3), row.text(4),
          row.integer(5), row.optional_time(6), row.optional_integer(7), row.text(8), row.time(9)};
}

// Due now, its schedule from the start; held while its webhook may not receive.
#define REPLAY                                                                                              \
  "SET e.estado = IF(w.activo, 'pendiente', 'retenida'), e.paso = 0, e.proximo_intento = UTC_TIMESTAMP(3)," \
  " e.terminada_en = NULL"

}  // namespace

std::vector<Delivery> list_deliveries(Session& session, const ListFilter& filter) {
  std::vector<Delivery> result;
  for (const auto& row : session.query(
           "SELECT * FROM (SELECT " DELIVERY_COLUMNS
           " FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id"
           " WHERE (? IS NULL OR n.entidad_id = ?) AND (? IS NULL OR e.webhook_id = ?)"
           " AND (? IS NULL OR e.notificacion_id = ?) AND (? IS NULL OR e.estado = ?)"
           " AND (? IS NULL OR e.creada_en >= ?) ORDER BY e.id DESC LIMIT ?) newest ORDER BY id",
           filter.entity, filter.entity, filter.webhook, filter.webhook, filter.notification,
           filter.notification, filter.state, filter.state, filter.since, filter.since, filter.limit)) {
    result.push_back(read_delivery(row));
  }
  return result;
}

std::optional<Delivery> find_delivery(Session& session, DeliveryId id) {
  const auto rows = session.query(
      "SELECT " DELIVERY_COLUMNS
      " FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id WHERE e.id = ?",
      id);
  if (rows.empty()) return std::nullopt;
  return read_delivery(rows.front());
}

std::vector<Attempt> list_attempts(Session& session, DeliveryId id) {
  std::vector<Attempt> result;
  for (const auto& row :
       session.query("SELECT numero, " STORE_EPOCH_MS(
                         "inicio") ", duracion_ms, direccion, estado_http, error FROM intentos_entrega"
                                   " WHERE entrega_id = ? ORDER BY numero",
                     id)) {
    result.push_back({row.integer(0), row.time(1), row.integer(2), row.optional_text(3),
                      row.optional_integer(4), row.text(5)});
  }
  return result;
}

DeliveryChange retry_delivery(Session& session, DeliveryId id) {
  return transaction(session, [&] {
    const auto rows = session.query(
        "SELECT e.estado, n.estado, w.plaza FROM entregas e JOIN notificaciones_pendientes n ON n.id = "
        "e.notificacion_id"
        " JOIN webhooks w ON w.id = e.webhook_id WHERE e.id = ? FOR UPDATE",
        id);
    if (rows.empty()) return DeliveryChange::not_found;
    if (rows.front().null(2)) return DeliveryChange::webhook_deleted;
    const auto& state = rows.front().text(0);
    if (state == "en_curso" || state == "retenida" || rows.front().text(1) == "cancelada")
      return DeliveryChange::wrong_state;
    session.update("UPDATE entregas e JOIN webhooks w ON w.id = e.webhook_id " REPLAY " WHERE e.id = ?", id);
    return DeliveryChange::done;
  });
}

std::optional<std::uint64_t> retry_failed_deliveries(Session& session, WebhookId webhook, UtcTime since) {
  if (!find_webhook(session, webhook)) return std::nullopt;
  // A subquery, because an UPDATE of a join takes no LIMIT.
  const auto failed = in_batches(session, [&] {
    return session.update(
        "UPDATE entregas e JOIN webhooks w ON w.id = e.webhook_id JOIN (SELECT id FROM entregas WHERE espera "
        "= 'fallida'"
        " AND webhook_id = ? AND creada_en >= ? ORDER BY proximo_intento, id LIMIT ?) chosen ON chosen.id = "
        "e.id " REPLAY " WHERE e.estado = 'fallida'",
        webhook, since, batch_rows);
  });
  // Those that wait for a retry need not wait any longer.
  const auto waiting = in_batches(session, [&] {
    return session.update(
        "UPDATE entregas SET paso = 0, proximo_intento = UTC_TIMESTAMP(3) WHERE espera = 'pendiente' AND "
        "webhook_id = ?"
        " AND creada_en >= ? AND paso > 0 ORDER BY proximo_intento, id LIMIT ?",
        webhook, since, batch_rows);
  });
  return failed + waiting;
}

}  // namespace store
