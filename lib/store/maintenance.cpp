#include "store/maintenance.hpp"

#include <string>
#include <vector>

#include "store/batches.hpp"
#include "store/exists_delivery.hpp"
#include "store/id_list.hpp"
#include "store/json_rows.hpp"

namespace store {

namespace json = webhook::json;

namespace {

/// Up to batch_rows deliveries of a webhook in `state`, oldest first, through `change` (the SET of an UPDATE
/// of `e`). Those that somebody holds are skipped: upkeep waits for nobody.
std::uint64_t change_batch(Session& session, WebhookId webhook, std::string_view state,
                           std::string_view change) {
  return transaction(session, [&]() -> std::uint64_t {
    json::Array ids;
    for (const auto& row :
         session.query("SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE estado = ? AND"
                       " webhook_id = ? ORDER BY proximo_intento, id LIMIT ? FOR UPDATE SKIP LOCKED",
                       state, webhook, batch_rows)) {
      ids.emplace_back(row.integer(0));
    }
    if (ids.empty()) return 0;
    return session.update(
        "UPDATE " STORE_JSON_IDS " j STRAIGHT_JOIN entregas e ON e.id = j.id SET " + std::string(change),
        json::dump(ids));
  });
}

/// change_batch for each webhook that `find` lists, within `max_batches`.
std::uint64_t for_each_webhook(Session& session, std::string_view find, std::string_view state,
                               std::string_view change, unsigned max_batches) {
  std::uint64_t total = 0;
  for (const auto& row : session.query(find)) {
    for (std::uint64_t changed = batch_rows; changed == batch_rows && max_batches > 0; --max_batches) {
      changed = change_batch(session, row.integer(0), state, change);
      total += changed;
    }
  }
  return total;
}

/// The deliveries `ids` with their attempts.
std::uint64_t delete_deliveries(Session& session, const std::vector<DeliveryId>& ids) {
  return transaction(session, [&]() -> std::uint64_t {
    // Locked first: one that the operator replays at this moment keeps its evidence.
    json::Array finished;
    for (const auto& row : query_ids(session, "SELECT id FROM entregas WHERE id IN", ids,
                                     "AND estado IN ('entregada', 'cancelada', 'fallida') FOR UPDATE")) {
      finished.emplace_back(row.integer(0));
    }
    if (finished.empty()) return 0;
    const std::string text = json::dump(finished);
    session.update(
        "DELETE i FROM " STORE_JSON_IDS " j STRAIGHT_JOIN intentos_entrega i ON i.entrega_id = j.id", text);
    return session.update("DELETE e FROM " STORE_JSON_IDS " j STRAIGHT_JOIN entregas e ON e.id = j.id", text);
  });
}

/// One window of a table, from the cursor on: the ids that are to go. The cursor moves past what was looked
/// at, and is done at the end.
std::vector<std::int64_t> expired_in_window(TableCursor& cursor, const Rows& window) {
  std::vector<std::int64_t> ids;
  for (const auto& row : window) {
    cursor.after = row.integer(0);
    if (row.boolean(1)) ids.push_back(cursor.after);
  }
  cursor.done = window.size() < batch_rows;
  return ids;
}

std::string as_json(const std::vector<std::int64_t>& ids) {
  return json::dump(json::Array(ids.begin(), ids.end()));
}

std::int64_t microseconds(platform::Milliseconds time) { return std::int64_t{time.count()} * 1000; }

std::uint64_t purge_deliveries(Session& session, const platform::RetentionSettings& retention,
                               TableCursor& cursor) {
  const auto expired = expired_in_window(
      cursor,
      session.query(
          "SELECT id, COALESCE(terminada_en < UTC_TIMESTAMP(3) - INTERVAL IF(estado = 'fallida', ?, ?)"
          " MICROSECOND, FALSE) FROM entregas WHERE id > ? ORDER BY id LIMIT ?",
          microseconds(retention.failed), microseconds(retention.delivered), cursor.after, batch_rows));
  return expired.empty() ? 0 : delete_deliveries(session, expired);
}

std::uint64_t purge_notifications(Session& session, const platform::RetentionSettings& retention,
                                  TableCursor& cursor) {
  const auto expired = expired_in_window(
      cursor, session.query("SELECT n.id, COALESCE(terminada_en < UTC_TIMESTAMP(3) - INTERVAL IF(error IS "
                            "NULL, ?, ?) MICROSECOND, FALSE)"
                            " AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.notificacion_id = n.id)"
                            " FROM notificaciones_pendientes n WHERE n.id > ? ORDER BY n.id LIMIT ?",
                            microseconds(retention.delivered), microseconds(retention.rejected), cursor.after,
                            batch_rows));
  if (expired.empty()) return 0;
  return session.update("DELETE n FROM " STORE_JSON_IDS
                        " j STRAIGHT_JOIN notificaciones_pendientes n ON n.id = j.id"
                        " WHERE n.estado <> 'pendiente'",
                        as_json(expired));
}

std::uint64_t purge_webhooks(Session& session, const platform::RetentionSettings& retention,
                             TableCursor& cursor) {
  const auto expired = expired_in_window(
      cursor,
      session.query("SELECT w.id, COALESCE(w.fecha_baja < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND, FALSE)"
                    " AND NOT EXISTS (SELECT 1 FROM entregas e WHERE e.webhook_id = w.id)"
                    " FROM webhooks w WHERE w.id > ? ORDER BY w.id LIMIT ?",
                    microseconds(retention.delivered), cursor.after, batch_rows));
  if (expired.empty()) return 0;
  const std::string ids = as_json(expired);
  session.update(
      "DELETE x FROM " STORE_JSON_IDS " j STRAIGHT_JOIN webhook_ejecuciones x ON x.webhook_id = j.id", ids);
  return session.update("DELETE w FROM " STORE_JSON_IDS
                        " j STRAIGHT_JOIN webhooks w ON w.id = j.id WHERE w.fecha_baja IS NOT NULL",
                        ids);
}

}  // namespace

std::uint64_t cancel_deliveries_of_deleted(Session& session, unsigned max_batches) {
  constexpr std::string_view cancel = "e.estado = 'cancelada', e.terminada_en = UTC_TIMESTAMP(3)";
  const auto pending = for_each_webhook(
      session,
      "SELECT w.id FROM webhooks w WHERE w.plaza IS NULL AND " STORE_EXISTS_DELIVERY("w.id", "'pendiente'"),
      "pendiente", cancel, max_batches);
  const auto held = for_each_webhook(
      session,
      "SELECT w.id FROM webhooks w WHERE w.plaza IS NULL AND " STORE_EXISTS_DELIVERY("w.id", "'retenida'"),
      "retenida", cancel, max_batches);
  return pending + held;
}

std::uint64_t hold_deliveries_of_inactive(Session& session, unsigned max_batches) {
  return for_each_webhook(
      session,
      "SELECT w.id FROM webhooks w JOIN entidades t ON t.id = w.entidad_id WHERE w.plaza IS NOT NULL"
      " AND NOT (w.activo AND t.activa) AND " STORE_EXISTS_DELIVERY("w.id", "'pendiente'"),
      "pendiente", "e.estado = 'retenida'", max_batches);
}

std::uint64_t release_deliveries_of_active(Session& session, unsigned max_batches) {
  return for_each_webhook(session,
                          "SELECT w.id FROM webhooks w JOIN entidades t ON t.id = w.entidad_id"
                          " LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id WHERE w.plaza IS NOT NULL "
                          "AND w.activo AND t.activa"
                          " AND (x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3))"
                          " AND " STORE_EXISTS_DELIVERY("w.id", "'retenida'"),
                          "retenida", "e.estado = 'pendiente', e.proximo_intento = UTC_TIMESTAMP(3)",
                          max_batches);
}

std::uint64_t purge_finished(Session& session, const platform::RetentionSettings& retention,
                             PurgeCursor& cursor, unsigned max_batches) {
  std::uint64_t total = 0;
  for (unsigned batch = 0; batch < max_batches && !cursor.done(); ++batch) {
    if (!cursor.deliveries.done) total += purge_deliveries(session, retention, cursor.deliveries);
    if (!cursor.notifications.done) total += purge_notifications(session, retention, cursor.notifications);
    if (!cursor.webhooks.done) total += purge_webhooks(session, retention, cursor.webhooks);
  }
  return total;
}

}  // namespace store
