#include "store/notifications/notifications.hpp"

#include <limits>

#include "store/notifications/test_quota.hpp"
#include "store/session/json_rows.hpp"

namespace store {

namespace {

#define NOTIFICATION_COLUMNS \
  "id, entidad_id, evento, estado, origen, error, clave, " STORE_EPOCH_MS("ocurrida_en")

Notification read_notification(const Row& row) {
  return {row.integer(0),       row.integer(1),       row.text(2), row.text(3), row.text(4),
          row.optional_text(5), row.optional_text(6), row.time(7), {}};
}

/// The state, with the row locked until the transaction ends; nullopt: no such row.
std::optional<std::string> lock_state(Session& session, NotificationId id) {
  const auto rows = session.query("SELECT estado FROM notificaciones_pendientes WHERE id = ? FOR UPDATE", id);
  if (rows.empty()) return std::nullopt;
  return rows.front().text(0);
}

NotificationChange change_rejected(Session& session, NotificationId id, std::string_view update) {
  return transaction(session, [&] {
    const auto state = lock_state(session, id);
    if (!state) return NotificationChange::not_found;
    if (*state != "rechazada") return NotificationChange::wrong_state;
    session.update(update, id);
    return NotificationChange::done;
  });
}

}  // namespace

std::vector<Notification> list_notifications(Session& session, const ListFilter& filter) {
  std::vector<Notification> result;
  for (const auto& row : session.query(
           "SELECT * FROM (SELECT " NOTIFICATION_COLUMNS
           " FROM notificaciones_pendientes WHERE (? IS NULL OR entidad_id = ?) AND (? IS NULL OR estado = ?)"
           " AND (? IS NULL OR ocurrida_en >= ?)"
           " AND (? IS NULL OR id IN (SELECT notificacion_id FROM entregas WHERE webhook_id = ?))"
           " ORDER BY id DESC LIMIT ?) newest ORDER BY id",
           filter.entity, filter.entity, filter.state, filter.state, filter.since, filter.since,
           filter.webhook, filter.webhook, filter.limit)) {
    result.push_back(read_notification(row));
  }
  return result;
}

std::optional<Notification> find_notification(Session& session, NotificationId id) {
  const auto rows =
      session.query("SELECT " NOTIFICATION_COLUMNS ", datos FROM notificaciones_pendientes WHERE id = ?", id);
  if (rows.empty()) return std::nullopt;
  auto notification = read_notification(rows.front());
  notification.data = rows.front().text(8);
  return notification;
}

NotificationChange retry_notification(Session& session, NotificationId id) {
  return change_rejected(
      session, id,
      "UPDATE notificaciones_pendientes SET estado = 'pendiente', error = NULL, terminada_en = NULL"
      " WHERE id = ?");
}

NotificationChange discard_notification(Session& session, NotificationId id) {
  return change_rejected(session, id,
                         "UPDATE notificaciones_pendientes SET estado = 'cancelada' WHERE id = ?");
}

CancelResult cancel_notification(Session& session, NotificationId id) {
  return transaction(session, [&]() -> CancelResult {
    const auto state = lock_state(session, id);
    if (!state) return {NotificationChange::not_found};
    if (*state != "pendiente" && *state != "procesada") return {NotificationChange::wrong_state};
    CancelResult result{NotificationChange::done};
    result.cancelled_deliveries = session.update(
        "UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3)"
        " WHERE notificacion_id = ? AND estado IN ('pendiente', 'retenida')",
        id);
    result.in_flight = static_cast<std::uint64_t>(
        session.query("SELECT COUNT(*) FROM entregas WHERE notificacion_id = ? AND estado = 'en_curso'", id)
            .at(0)
            .integer(0));
    if (*state == "procesada" && result.cancelled_deliveries + result.in_flight == 0)
      return {NotificationChange::wrong_state};
    // An attempt in flight that fails finds the notification cancelled when it would be claimed again.
    session.update(
        "UPDATE notificaciones_pendientes SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3) WHERE id "
        "= ?",
        id);
    return result;
  });
}

std::vector<Webhook> queue_test_event(Session& session, EntityId entity, webhook::Event event,
                                      std::string_view sealed_data, std::uint64_t max_pending) {
  bool too_many = false;
  auto queued = transaction(session, [&] {
    too_many = false;
    const auto room = max_pending == 0 ? std::numeric_limits<std::uint64_t>::max()
                                       : take_test_turn(session, entity, max_pending);
    // Locked for share, so that none of them is deleted or disabled between the choice and the answer.
    const auto rows = session.query(
        "SELECT id, url FROM webhooks WHERE entidad_id = ? AND plaza IS NOT NULL AND activo AND "
        "FIND_IN_SET(?, eventos)"
        " ORDER BY id LOCK IN SHARE MODE",
        entity, webhook::name(event));
    std::vector<Webhook> chosen;
    if (rows.empty()) return chosen;
    too_many = rows.size() > room;
    if (too_many)
      return chosen;  // committed: an entity's first turn, rolled back, has all who wait for it deadlock
    session.update(
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, origen, terminada_en)"
        " VALUES (?, ?, ?, 'procesada', 'prueba', UTC_TIMESTAMP(3))",
        entity, webhook::name(event), sealed_data);
    const NotificationId notification = session.last_insert_id();
    webhook::json::Array ids;
    for (const auto& row : rows) {
      ids.emplace_back(row.integer(0));
      chosen.push_back({.id = row.integer(0),
                        .entity = entity,
                        .url = row.text(1),
                        .events = {},
                        .active = true,
                        .inactive_reason = {},
                        .created = {},
                        .last_execution = {},
                        .last_status = {},
                        .last_error = {}});
    }
    session.update(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en)"
        " SELECT ?, j.id, 'pendiente', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM " STORE_JSON_IDS
        " j ORDER BY j.id",
        notification, webhook::json::dump(ids));
    if (max_pending > 0) count_test_deliveries(session, entity, notification);
    return chosen;
  });
  if (too_many) throw TooManyPendingTests();
  return queued;
}

}  // namespace store
