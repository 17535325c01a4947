// Table `notificaciones_pendientes`, for the operator and the API.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

struct Notification {
  NotificationId id;
  EntityId entity;
  std::string event;
  std::string state;   // pendiente, procesada, rechazada, cancelada
  std::string origin;  // evaluacion, prueba
  std::optional<std::string> error;
  std::optional<std::string> key;
  std::optional<UtcTime> occurred;      // unset: the row's date is not in the calendar (2026-00-15)
  std::optional<std::string> data;      // unset: in lists, and if too long
  std::optional<UtcTime> expires;       // `caduca_en`; unset: in lists, too
  std::optional<UtcTime> not_before;    // `no_antes_de`
  bool urgent = false;                  // `urgente`; false in lists, too
  std::optional<UtcTime> withdrawn{};   // when its writer called it off; unset: in lists, too
  std::optional<std::string> reason{};  // `motivo` of that
};

/// `since` of the filter bounds `occurred`.
std::vector<Notification> list_notifications(Session& session, const ListFilter& filter);
std::optional<Notification> find_notification(Session& session, NotificationId id);

enum class NotificationChange { done, not_found, wrong_state };

// The next three functions also change rows that violate a CHECK.

/// Changes rechazada to pendiente. Throws DuplicateKey when another notification has taken its `clave`.
NotificationChange retry_notification(Session& session, NotificationId id);
/// Changes rechazada to cancelada: the operator wants nothing sent.
NotificationChange discard_notification(Session& session, NotificationId id);

struct CancelResult {
  NotificationChange change;
  /// They were pendiente or retenida. Now they are cancelada, or entregada if they had a 2xx before a replay.
  std::uint64_t cancelled_deliveries = 0;
  std::uint64_t in_flight = 0;  // deliveries en_curso, which may still arrive
};
/// Cancels a notification that is pendiente or procesada, and its deliveries that are pendiente or retenida.
CancelResult cancel_notification(Session& session, NotificationId id);
/// Counts what cancel_notification() would change; changes and locks nothing.
CancelResult preview_cancel_notification(Session& session, NotificationId id);

/// Writes, in one transaction, a notification of origin `prueba`, already procesada, and one delivery for
/// each of the entity's active webhooks that are subscribed to the event. Returns these webhooks in the order
/// of their ids; writes nothing if there are none. `sealed_data`: from webhook::seal_test_data. Throws
/// OverQuota, and queues nothing, if the entity would have more than `max_pending` unfinished test
/// deliveries, or its bucket of `bytes_per_day` lacks the bytes of the event and its deliveries. A limit of 0
/// is no limit. Concurrent requests cannot exceed the limits together.
std::vector<Webhook> queue_test_event(Session& session, EntityId entity, webhook::Event event,
                                      std::string_view sealed_data, std::uint64_t max_pending = 0,
                                      std::uint64_t bytes_per_day = 0);
enum class TestQueued {
  done,
  not_found,  // the entity has no such webhook
  inactive,
};
struct QueuedTest {
  TestQueued result;
  DeliveryId delivery = 0;  // when done
  UtcTime created{};        // of the delivery
};
/// As queue_test_event, to this webhook alone, whether or not it is subscribed to the event.
QueuedTest queue_webhook_test(Session& session, EntityId entity, WebhookId webhook, webhook::Event event,
                              std::string_view sealed_data, std::uint64_t max_pending = 0,
                              std::uint64_t bytes_per_day = 0);
/// As queue_test_event, for the operator: to this webhook alone, and without limits. Returns the delivery;
/// nullopt if the webhook is deleted, inactive or not subscribed to the event.
std::optional<DeliveryId> queue_test_delivery(Session& session, const Webhook& webhook, webhook::Event event,
                                              std::string_view sealed_data);

}  // namespace store
