#include "lib/store/notifications/notifications.hpp"

#include "lib/store/cancelled.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/slots.hpp"

namespace store {

namespace {

/// The newest notifications that match a filter, oldest first.
constexpr std::string_view filtered_notifications = R"sql(
  SELECT * FROM (
    SELECT n.id, n.entidad_id, n.evento, n.estado, n.origen, n.error, n.clave,
      CAST(n.ocurrida_en AS CHAR) AS ocurrida_en, CAST(n.no_antes_de AS CHAR) AS no_antes_de
    FROM notificaciones_pendientes n
    WHERE (? IS NULL OR n.entidad_id = ?) AND (? IS NULL OR n.estado = ?)
      AND (? IS NULL OR n.ocurrida_en >= ?)
      AND (? IS NULL OR n.id IN (SELECT notificacion_id FROM entregas WHERE webhook_id = ?))
    ORDER BY n.id DESC LIMIT ?) newest
  ORDER BY id)sql";
/// Omits data, other than those of test events, that are longer than the CHECK of the table allows: with the
/// CHECK disabled, data may have any length.
constexpr std::string_view notification_with_data = R"sql(
  SELECT n.id, n.entidad_id, n.evento, n.estado, n.origen, n.error, n.clave, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en,
    CAST(n.caduca_en AS CHAR) AS caduca_en, CAST(n.no_antes_de AS CHAR) AS no_antes_de, n.urgente,
    IF(n.origen = 'prueba' OR LENGTH(n.datos) <= 65536, n.datos, NULL) AS datos,
    CAST(a.anulada_en AS CHAR) AS anulada_en, a.motivo
  FROM notificaciones_pendientes n LEFT JOIN notificaciones_anuladas a FORCE INDEX (notificaciones_anuladas_de)
    ON a.notificacion_id = n.id
  WHERE n.id = ? LIMIT 1)sql";

constexpr std::string_view lock_notification = R"sql(
  SELECT estado FROM notificaciones_pendientes WHERE id = ? FOR UPDATE)sql";
// The row may violate a CHECK, because any session can disable the CHECKs on MariaDB. MariaDB checks the
// whole row at every change, so the changes below disable the CHECKs, too. (MySQL cannot disable its CHECKs
// for a session, and treats the SET STATEMENT as a comment.)
constexpr std::string_view retry_rejected = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0 FOR */
  UPDATE notificaciones_pendientes SET estado = 'pendiente', error = NULL, terminada_en = NULL
  WHERE id = ?)sql";
constexpr std::string_view discard_rejected = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0 FOR */
  UPDATE notificaciones_pendientes SET estado = 'cancelada' WHERE id = ?)sql";

constexpr std::string_view waiting_of_notification = R"sql(
  WHERE notificacion_id = ? AND estado IN ('pendiente', 'retenida'))sql";
constexpr std::string_view select_count = "SELECT COUNT(*) AS contadas FROM entregas";
constexpr auto count_waiting = joined<select_count, waiting_of_notification>;
constexpr std::string_view deliveries_in_flight = R"sql(
  SELECT COUNT(*) AS en_curso FROM entregas WHERE notificacion_id = ? AND estado = 'en_curso')sql";
constexpr std::string_view cancel_notification_row = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0 FOR */
  UPDATE notificaciones_pendientes SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3), relleno = NULL
  WHERE id = ?)sql";

/// The chosen webhooks are locked for share, so that none is deleted or disabled before the commit.
constexpr std::string_view webhooks_of_entity = R"sql(
  SELECT id, url FROM webhooks FORCE INDEX (webhooks_cinco_por_entidad)
  WHERE entidad_id = ? AND plaza)sql";
constexpr std::string_view lock_if_subscribed = R"sql(AND activo AND FIND_IN_SET(?, eventos)
  ORDER BY id LOCK IN SHARE MODE)sql";
constexpr std::string_view lock_subscribed_webhook = R"sql(
  SELECT id, url FROM webhooks
  WHERE id = ? AND plaza IS NOT NULL AND activo AND FIND_IN_SET(?, eventos) LOCK IN SHARE MODE)sql";
constexpr std::string_view lock_own_webhook = R"sql(
  SELECT id, activo FROM webhooks
  WHERE id = ? AND entidad_id = ? AND plaza IS NOT NULL LOCK IN SHARE MODE)sql";
constexpr std::string_view delivery_of = R"sql(
  SELECT id, CAST(creada_en AS CHAR) AS creada_en FROM entregas
  WHERE notificacion_id = ? AND webhook_id = ?)sql";
constexpr auto lock_subscribed_webhooks = joined<webhooks_of_entity, slot_by_slot, lock_if_subscribed>;
// A short lock wait, because on MariaDB every user with SELECT can lock ranges of this table, and must not
// block the API's threads for long.
constexpr std::string_view insert_test_event = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
  INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, origen, terminada_en)
  VALUES (?, ?, ?, 'procesada', 'prueba', UTC_TIMESTAMP(3)))sql";
constexpr std::string_view keep_for_tests_retention =
    "INSERT INTO pruebas_por_borrar (notificacion_id) VALUES (?)";
constexpr std::size_t bytes_of_delivery = 1024;  // approximate, with its attempts
constexpr std::string_view insert_test_deliveries =
    "INSERT INTO entregas (notificacion_id, webhook_id, evento, prueba, estado, proximo_intento, creada_en)"
    " VALUES";
constexpr std::string_view test_delivery = "(?, ?, ?, TRUE, 'pendiente', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))";

Notification read_notification(const Row& row) {
  return {row.integer("id"),
          row.integer("entidad_id"),
          row.text("evento"),
          row.text("estado"),
          row.text("origen"),
          row.optional_text("error"),
          row.optional_text("clave"),
          row.optional_time("ocurrida_en"),
          {},
          {},
          row.optional_time("no_antes_de")};
}

/// Locks the row until the transaction ends, and returns its state; nullopt when there is no such row.
std::optional<std::string> lock_state(Session& session, NotificationId id) {
  const auto rows = session.query(lock_notification, id);
  return rows.empty() ? std::nullopt : std::optional(rows.front().text("estado"));
}

/// Runs `update` if the row is rechazada.
NotificationChange change_rejected(Session& session, NotificationId id, std::string_view update) {
  return transaction(session, [&] {
    const auto state = lock_state(session, id);
    if (!state) return NotificationChange::not_found;
    if (state != "rechazada") return NotificationChange::wrong_state;
    session.update(update, id);
    return NotificationChange::done;
  });
}

std::uint64_t cancel_deliveries(Session& session, NotificationId id) {
  return session.update("UPDATE entregas SET " + ends_cancelled(called_off).append(waiting_of_notification),
                        id);
}

std::uint64_t count_in_flight(Session& session, NotificationId id) {
  return session.query(deliveries_in_flight, id).at(0).unsigned_integer("en_curso");
}

/// Changes a notification from pendiente or procesada to cancelada, and cancels its deliveries that
/// wait. Returns wrong_state if it is procesada and no delivery waits or is in flight.
CancelResult cancel_unfinished(Session& session, NotificationId id, bool pending) {
  CancelResult result{NotificationChange::done};
  result.cancelled_deliveries = cancel_deliveries(session, id);
  result.in_flight = count_in_flight(session, id);
  if (!pending && result.cancelled_deliveries + result.in_flight == 0)
    return {NotificationChange::wrong_state};
  // An attempt in flight may fail; the next claim then finds the notification cancelled.
  session.update(cancel_notification_row, id);
  return result;
}

/// Writes a test event and its deliveries to `webhooks`.
NotificationId insert_test(Session& session, EntityId entity, webhook::Event event,
                           std::string_view sealed_data, const Rows& webhooks) {
  session.update(insert_test_event, entity, webhook::name(event), sealed_data);
  const NotificationId notification = session.last_insert_id();
  std::vector<Parameter> deliveries;
  for (const auto& row : webhooks)
    append_row(deliveries, notification, row.integer("id"), webhook::name(event));
  insert_rows(session, insert_test_deliveries, test_delivery, deliveries);
  session.update(keep_for_tests_retention, notification);
  return notification;
}

/// The limits of an entity's test events; 0 is no limit.
struct TestLimits {
  std::uint64_t max_pending;
  std::uint64_t bytes_per_day;
};

/// Locks the quotas of tests, if there is a limit, and returns what is left of the pending ones.
QuotaLeft lock_tests(Session& session, EntityId entity, const TestLimits& limits) {
  if (limits.max_pending > 0 || limits.bytes_per_day > 0) lock_test_quotas(session, entity);
  return pending_tests_left(session, entity, limits.max_pending);
}

/// As insert_test, within the quotas. Throws OverQuota.
NotificationId insert_within_quotas(Session& session, EntityId entity, webhook::Event event,
                                    std::string_view sealed_data, const Rows& webhooks,
                                    const QuotaLeft& pending, const TestLimits& limits) {
  pending.require(webhooks.size());
  use_quota(session, Quota::test_bytes, entity, limits.bytes_per_day,
            sealed_data.size() + webhooks.size() * bytes_of_delivery);
  const auto notification = insert_test(session, entity, event, sealed_data, webhooks);
  if (limits.max_pending > 0) count_pending_tests(session, entity, notification);
  return notification;
}

}  // namespace

std::vector<Notification> list_notifications(Session& session, const ListFilter& filter) {
  std::vector<Notification> result;
  for (const auto& row :
       session.query(filtered_notifications, filter.entity, filter.entity, filter.state, filter.state,
                     filter.since, filter.since, filter.webhook, filter.webhook, filter.limit)) {
    result.push_back(read_notification(row));
  }
  return result;
}

std::optional<Notification> find_notification(Session& session, NotificationId id) {
  const auto rows = session.query(notification_with_data, id);
  if (rows.empty()) return std::nullopt;
  auto notification = read_notification(rows.front());
  notification.data = rows.front().optional_text("datos");
  notification.expires = rows.front().optional_time("caduca_en");
  notification.urgent = rows.front().boolean("urgente");
  notification.withdrawn = rows.front().optional_time("anulada_en");
  notification.reason = rows.front().optional_text("motivo");
  return notification;
}

NotificationChange retry_notification(Session& session, NotificationId id) {
  return change_rejected(session, id, retry_rejected);
}

NotificationChange discard_notification(Session& session, NotificationId id) {
  return change_rejected(session, id, discard_rejected);
}

CancelResult cancel_notification(Session& session, NotificationId id) {
  auto result = transaction(session, [&]() -> CancelResult {
    const auto state = lock_state(session, id);
    if (!state) return {NotificationChange::not_found};
    if (state != "pendiente" && state != "procesada") return {NotificationChange::wrong_state};
    return cancel_unfinished(session, id, state == "pendiente");
  });
  if (result.change != NotificationChange::done) return result;
  // A delivery in flight may have become pending before the commit, or even been claimed again, because a
  // claim reads the notification without a lock. After the commit every claim finds the notification
  // cancelled, so cancelling once more leaves none behind.
  result.cancelled_deliveries += cancel_deliveries(session, id);
  result.in_flight = count_in_flight(session, id);
  return result;
}

CancelResult preview_cancel_notification(Session& session, NotificationId id) {
  const auto notification = find_notification(session, id);
  if (!notification) return {NotificationChange::not_found};
  const CancelResult result{NotificationChange::done,
                            session.query(count_waiting, id).at(0).unsigned_integer("contadas"),
                            count_in_flight(session, id)};
  const bool unfinished =
      notification->state == "pendiente" ||
      (notification->state == "procesada" && result.cancelled_deliveries + result.in_flight > 0);
  return unfinished ? result : CancelResult{NotificationChange::wrong_state};
}

std::vector<Webhook> queue_test_event(Session& session, EntityId entity, webhook::Event event,
                                      std::string_view sealed_data, std::uint64_t max_pending,
                                      std::uint64_t bytes_per_day) {
  const TestLimits limits{max_pending, bytes_per_day};
  return transaction(session, [&] {
    const auto pending = lock_tests(session, entity, limits);
    const auto rows = session.query(lock_subscribed_webhooks, entity, webhook::name(event));
    std::vector<Webhook> chosen;
    if (rows.empty()) return chosen;
    insert_within_quotas(session, entity, event, sealed_data, rows, pending, limits);
    for (const auto& row : rows) {
      chosen.push_back({.id = row.integer("id"),
                        .entity = entity,
                        .url = row.text("url"),
                        .events = {},
                        .active = true,
                        .inactive_reason = {},
                        .created = {},
                        .last_execution = {},
                        .last_status = {},
                        .last_error = {},
                        .name = {}});
    }
    return chosen;
  });
}

QueuedTest queue_webhook_test(Session& session, EntityId entity, WebhookId webhook, webhook::Event event,
                              std::string_view sealed_data, std::uint64_t max_pending,
                              std::uint64_t bytes_per_day) {
  const TestLimits limits{max_pending, bytes_per_day};
  return transaction(session, [&]() -> QueuedTest {
    const auto pending = lock_tests(session, entity, limits);
    const auto rows = session.query(lock_own_webhook, webhook, entity);
    if (rows.empty()) return {TestQueued::not_found};
    if (!rows.front().boolean("activo")) return {TestQueued::inactive};
    const auto notification =
        insert_within_quotas(session, entity, event, sealed_data, rows, pending, limits);
    const auto made = session.query(delivery_of, notification, webhook).at(0);
    return {TestQueued::done, made.integer("id"), made.time("creada_en")};
  });
}

std::optional<DeliveryId> queue_test_delivery(Session& session, const Webhook& webhook, webhook::Event event,
                                              std::string_view sealed_data) {
  return transaction(session, [&]() -> std::optional<DeliveryId> {
    const auto rows = session.query(lock_subscribed_webhook, webhook.id, webhook::name(event));
    if (rows.empty()) return std::nullopt;
    const auto notification = insert_test(session, webhook.entity, event, sealed_data, rows);
    return session.query(delivery_of, notification, webhook.id).at(0).integer("id");
  });
}

}  // namespace store
