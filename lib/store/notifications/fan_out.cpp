#include "store/notifications/fan_out.hpp"

#include "store/deliveries/first_pending.hpp"
#include "store/session/json_rows.hpp"
#include "store/session/rows_by_key.hpp"
#include "store/session/union_all.hpp"

namespace store {

namespace json = webhook::json;

namespace {

/// Sought by one statement.
constexpr std::size_t entities_per_statement = 32;

json::Value ids_of(const std::vector<EntityId>& ids) { return json::Array(ids.begin(), ids.end()); }

void reject(Session& session, const std::vector<RejectedNotification>& rejected) {
  for (const auto& [id, reason] : rejected) {
    const auto changed = session.update(
        "UPDATE notificaciones_pendientes SET estado = 'rechazada', error = ?, terminada_en = "
        "UTC_TIMESTAMP(3)"
        " WHERE id = ? AND estado = 'pendiente'",
        reason, id);
    if (changed != 1) throw Conflict(0, "a notification was taken by another dispatcher");
  }
}

void mark_processed(Session& session, const std::vector<NotificationId>& processed) {
  if (processed.empty()) return;
  // Of one table: a join with JSON_TABLE notes its rows in a temporary table before it updates them.
  const auto changed = update_ids(session,
                                  "UPDATE notificaciones_pendientes FORCE INDEX (PRIMARY)"
                                  " SET estado = 'procesada', terminada_en = UTC_TIMESTAMP(3) WHERE id IN",
                                  processed, "AND estado = 'pendiente'");
  if (changed != processed.size()) throw Conflict(0, "a notification was taken by another dispatcher");
}

void insert_deliveries(Session& session, const std::vector<NewDelivery>& deliveries, const Lease& lease) {
  if (deliveries.empty()) return;
  json::Array rows;
  for (const auto& delivery : deliveries) {
    rows.push_back(json::Array{delivery.notification, delivery.webhook, name(delivery.state)});
  }
  // In the order given, which is that of the notifications: ids, and so claims, follow it.
  session.update(
      "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, arriendo, "
      "arriendo_hasta)"
      " SELECT j.n, j.w, j.e, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), IF(j.e = 'en_curso', ?, NULL),"
      " IF(j.e = 'en_curso', UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, NULL)"
      " FROM JSON_TABLE(?, '$[*]' COLUMNS (o FOR ORDINALITY, n BIGINT PATH '$[0]', w BIGINT PATH '$[1]',"
      " e VARCHAR(10) PATH '$[2]')) j ORDER BY j.o",
      lease.token, std::int64_t{lease.duration.count()} * 1000, json::dump(rows));
}

std::vector<CreatedDelivery> read_leased(Session& session, const FanOut& fan_out, const Lease& lease) {
  json::Array notifications;
  for (const auto& delivery : fan_out.deliveries) {
    const bool repeated = !notifications.empty() && notifications.back().integer() == delivery.notification;
    if (delivery.state == delivery::DeliveryState::leased && !repeated)
      notifications.emplace_back(delivery.notification);
  }
  std::vector<CreatedDelivery> result;
  if (notifications.empty()) return result;
  for (const auto& row :
       session.query("SELECT e.id, e.notificacion_id, e.webhook_id, " STORE_EPOCH_MS(
                         "e.creada_en") " FROM " STORE_JSON_IDS " j STRAIGHT_JOIN entregas e FORCE INDEX "
                                        "(entregas_una_por_webhook) ON e.notificacion_id = "
                                        "j.id WHERE e.estado = 'en_curso' AND e.arriendo = ?"
                                        " ORDER BY e.id",
                     json::dump(notifications), lease.token)) {
    result.push_back({row.integer(0), row.integer(1), row.integer(2), row.time(3)});
  }
  return result;
}

}  // namespace

Taken take_pending(Session& session, const std::vector<TakeRequest>& requests) {
  // Found without a lock, locked by key: a locking read that comes to the end of an entity's rows goes on to
  // the next live entry of the index, and locks every dead one between; past those that a backup's snapshot
  // keeps, for seconds.
  constexpr std::string_view sql =
      "SELECT id, entidad_id FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)"
      " WHERE estado = 'pendiente' AND entidad_id = ? AND id > ? ORDER BY id LIMIT ?";
  std::vector<Seek> seeks;
  seeks.reserve(requests.size());
  for (const auto& request : requests)
    seeks.push_back({Parameter(request.entity), Parameter(request.after), Parameter(request.limit)});
  const Seek none{Parameter(0), Parameter(0), Parameter(0)};
  Taken taken;
  std::vector<NotificationId> ids;
  for (const auto& row : query_seeks(session, sql, seeks, none, entities_per_statement)) {
    ids.push_back(row.integer(0));
    ++taken.found[row.integer(1)];
  }
  std::map<NotificationId, PendingNotification> locked;
  for (const auto& row :
       query_ids(session,
                 "SELECT id, entidad_id, evento, datos, " STORE_EPOCH_MS(
                     "ocurrida_en") " FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id IN",
                 ids, "AND estado = 'pendiente' FOR UPDATE SKIP LOCKED"))
    locked.emplace(row.integer(0), PendingNotification{row.integer(0), row.integer(1), row.text(2),
                                                       row.text(3), row.optional_time(4)});
  for (const auto id : ids) {
    if (auto found = locked.extract(id)) taken.notifications.push_back(std::move(found.mapped()));
  }
  return taken;
}

std::map<EntityId, Recipient> load_recipients(Session& session, const std::vector<EntityId>& entities) {
  std::map<EntityId, Recipient> result;
  // The lock is a statement of its own: the next one reads rows that are written with results, and must not
  // wait for them. By primary key, as a DELETE does: through the index on the entity the two would lock in
  // opposite orders.
  std::vector<WebhookId> webhooks;
  for (const auto& row : query_ids(session, "SELECT id FROM webhooks WHERE entidad_id IN", entities,
                                   "AND plaza IS NOT NULL ORDER BY id")) {
    webhooks.push_back(row.integer(0));
  }
  query_ids(session, "SELECT id FROM webhooks WHERE id IN", webhooks, "LOCK IN SHARE MODE");
  const auto rows =
      session.query("SELECT e.id, e.activa, " STORE_TARGET_COLUMNS
                    ", w.eventos, w.activo,"
                    " COALESCE(x.sondeo, FALSE), COALESCE(x.descansa_hasta > UTC_TIMESTAMP(3), FALSE),"
                    // Its first one, in the index's order: asked whether any is due, MariaDB reads all that
                    // wait for tomorrow.
                    " COALESCE(" STORE_FIRST_DUE("w.id") " <= UTC_TIMESTAMP(3), FALSE)"
                    " FROM " STORE_JSON_IDS
                    " j STRAIGHT_JOIN entidades e ON e.id = j.id"
                    " LEFT JOIN webhooks w ON w.entidad_id = e.id AND w.plaza IS NOT NULL"
                    " LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id ORDER BY e.id, w.id",
                    json::dump(ids_of(entities)));
  for (const auto& row : rows) {
    auto& recipient = result[row.integer(0)];
    recipient.active = row.boolean(1);
    if (row.null(2)) continue;
    constexpr auto rest = 2 + target_columns;
    recipient.webhooks.push_back({read_target(row, 2), webhook::EventSet::from_joined(row.text(rest)),
                                  row.boolean(rest + 1), row.boolean(rest + 2), row.boolean(rest + 3),
                                  row.boolean(rest + 4)});
  }
  return result;
}

std::vector<CreatedDelivery> write_fan_out(Session& session, const FanOut& fan_out, const Lease& lease) {
  reject(session, fan_out.rejected);
  mark_processed(session, fan_out.processed);
  insert_deliveries(session, fan_out.deliveries, lease);
  return read_leased(session, fan_out, lease);
}

}  // namespace store
