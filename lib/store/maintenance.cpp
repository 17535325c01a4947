#include "store/maintenance.hpp"

#include <string>
#include <vector>

#include "store/batches.hpp"
#include "store/json_rows.hpp"

namespace store {

namespace json = webhook::json;

namespace {

/// Runs `update` (parameters: webhook, row limit) for each webhook that `find` lists, within `max_batches`
/// statements.
std::uint64_t for_each_webhook(Session& session, std::string_view find, std::string_view update,
                               unsigned max_batches) {
  std::uint64_t total = 0;
  for (const auto& row : session.query(find)) {
    for (std::uint64_t changed = batch_rows; changed == batch_rows && max_batches > 0; --max_batches) {
      changed = session.update(update, row.integer(0), batch_rows);
      total += changed;
    }
  }
  return total;
}

/// The deliveries `ids` with their attempts.
std::uint64_t delete_deliveries(Session& session, const std::string& ids) {
  return transaction(session, [&] {
    session.update(
        "DELETE i FROM " STORE_JSON_IDS " j STRAIGHT_JOIN intentos_entrega i ON i.entrega_id = j.id", ids);
    return session.update("DELETE e FROM " STORE_JSON_IDS
                          " j STRAIGHT_JOIN entregas e ON e.id = j.id"
                          " WHERE e.estado IN ('entregada', 'cancelada', 'fallida')",
                          ids);
  });
}

/// One window of a table, from `cursor` on: the ids that are to go; the cursor moves past what was looked at,
/// and back to 0 at the end.
std::string expired_in_window(std::int64_t& cursor, const Rows& window) {
  json::Array ids;
  for (const auto& row : window) {
    cursor = row.integer(0);
    if (row.boolean(1)) ids.emplace_back(cursor);
  }
  if (window.size() < batch_rows) cursor = 0;
  return ids.empty() ? std::string() : json::dump(ids);
}

std::uint64_t purge_deliveries(Session& session, const platform::RetentionSettings& retention,
                               DeliveryId& cursor) {
  const auto expired = expired_in_window(
      cursor, session.query("SELECT id, COALESCE(IF(estado = 'fallida', terminada_en < UTC_TIMESTAMP(3) - "
                            "INTERVAL ? MICROSECOND,"
                            " terminada_en < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND), FALSE)"
                            " FROM entregas WHERE id > ? ORDER BY id LIMIT ?",
                            std::int64_t{retention.failed.count()} * 1000,
                            std::int64_t{retention.delivered.count()} * 1000, cursor, batch_rows));
  return expired.empty() ? 0 : delete_deliveries(session, expired);
}

std::uint64_t purge_notifications(Session& session, const platform::RetentionSettings& retention,
                                  NotificationId& cursor) {
  const auto expired = expired_in_window(
      cursor, session.query("SELECT n.id, COALESCE(terminada_en < UTC_TIMESTAMP(3) - INTERVAL IF(error IS "
                            "NULL, ?, ?) MICROSECOND, FALSE)"
                            " AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.notificacion_id = n.id)"
                            " FROM notificaciones_pendientes n WHERE n.id > ? ORDER BY n.id LIMIT ?",
                            std::int64_t{retention.delivered.count()} * 1000,
                            std::int64_t{retention.rejected.count()} * 1000, cursor, batch_rows));
  if (expired.empty()) return 0;
  return session.update("DELETE n FROM " STORE_JSON_IDS
                        " j STRAIGHT_JOIN notificaciones_pendientes n ON n.id = j.id"
                        " WHERE n.estado <> 'pendiente'",
                        expired);
}

std::uint64_t purge_webhooks(Session& session, const platform::RetentionSettings& retention,
                             WebhookId& cursor) {
  const auto expired = expired_in_window(
      cursor,
      session.query("SELECT w.id, COALESCE(w.fecha_baja < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND, FALSE)"
                    " AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.webhook_id = w.id)"
                    " FROM webhooks w WHERE w.id > ? ORDER BY w.id LIMIT ?",
                    std::int64_t{retention.delivered.count()} * 1000, cursor, batch_rows));
  if (expired.empty()) return 0;
  session.update("DELETE x FROM " STORE_JSON_IDS
                 " j STRAIGHT_JOIN webhook_ejecuciones x ON x.webhook_id = j.id",
                 expired);
  return session.update("DELETE w FROM " STORE_JSON_IDS
                        " j STRAIGHT_JOIN webhooks w ON w.id = j.id WHERE w.fecha_baja IS NOT NULL",
                        expired);
}

}  // namespace

std::uint64_t cancel_deliveries_of_deleted(Session& session, unsigned max_batches) {
  return for_each_webhook(session,
                          "SELECT DISTINCT w.id FROM (SELECT webhook_id FROM entregas WHERE estado = "
                          "'pendiente' GROUP BY webhook_id UNION ALL"
                          " SELECT webhook_id FROM entregas WHERE estado = 'retenida' GROUP BY webhook_id) d "
                          "JOIN webhooks w ON w.id = d.webhook_id"
                          " WHERE w.plaza IS NULL",
                          "UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3)"
                          " WHERE estado IN ('pendiente', 'retenida') AND webhook_id = ? ORDER BY id LIMIT ?",
                          max_batches);
}

std::uint64_t hold_deliveries_of_inactive(Session& session, unsigned max_batches) {
  return for_each_webhook(
      session,
      "SELECT w.id FROM (SELECT webhook_id FROM entregas WHERE estado = 'pendiente' GROUP BY webhook_id) d"
      " JOIN webhooks w ON w.id = d.webhook_id JOIN entidades t ON t.id = w.entidad_id"
      " WHERE w.plaza IS NOT NULL AND NOT (w.activo AND t.activa)",
      "UPDATE entregas SET estado = 'retenida' WHERE estado = 'pendiente' AND webhook_id = ? ORDER BY id "
      "LIMIT ?",
      max_batches);
}

std::uint64_t release_deliveries_of_active(Session& session, unsigned max_batches) {
  return for_each_webhook(
      session,
      "SELECT w.id FROM (SELECT webhook_id FROM entregas WHERE estado = 'retenida' GROUP BY webhook_id) d"
      " JOIN webhooks w ON w.id = d.webhook_id JOIN entidades t ON t.id = w.entidad_id"
      " LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id WHERE w.plaza IS NOT NULL AND w.activo AND "
      "t.activa"
      " AND (x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3))",
      "UPDATE entregas SET estado = 'pendiente', proximo_intento = UTC_TIMESTAMP(3)"
      " WHERE estado = 'retenida' AND webhook_id = ? ORDER BY id LIMIT ?",
      max_batches);
}

std::uint64_t purge_finished(Session& session, const platform::RetentionSettings& retention,
                             PurgeCursor& cursor, unsigned max_batches) {
  std::uint64_t total = 0;
  for (unsigned batch = 0; batch < max_batches; ++batch) {
    total += purge_deliveries(session, retention, cursor.delivery);
    total += purge_notifications(session, retention, cursor.notification);
    total += purge_webhooks(session, retention, cursor.webhook);
    if (cursor.delivery == 0 && cursor.notification == 0 && cursor.webhook == 0) break;
  }
  return total;
}

}  // namespace store
