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
  std::string state;   // pendiente, procesada, rechazada (also in quarantine), cancelada
  std::string origin;  // evaluacion, prueba
  std::optional<std::string> error;
  std::optional<std::string> key;
  std::optional<UtcTime> occurred;  // unset: not a day of the calendar
  std::optional<std::string> data;  // unset: in lists, and when it is too long
};

std::vector<Notification> list_notifications(Session& session, const ListFilter& filter);
std::optional<Notification> find_notification(Session& session, NotificationId id);

enum class NotificationChange { done, not_found, wrong_state };

// The functions below also change rows that violate a CHECK.

/// Changes rechazada to pendiente. Throws DuplicateKey when another notification has taken its `clave`.
NotificationChange retry_notification(Session& session, NotificationId id);
/// Changes rechazada to cancelada: the operator has seen it and sends nothing.
NotificationChange discard_notification(Session& session, NotificationId id);

struct CancelResult {
  NotificationChange change;
  std::uint64_t cancelled_deliveries = 0;  // pendiente or retenida -> cancelada
  std::uint64_t in_flight = 0;             // en_curso: they may still arrive
};
/// Cancels the deliveries that have not been sent. A quarantined notification is discarded.
CancelResult cancel_notification(Session& session, NotificationId id);

/// One transaction: a notification of origin `prueba`, already procesada, and exactly one delivery for each
/// active webhook of the entity subscribed to the event, which it returns, ordered by id (empty: none, and
/// nothing was written). `sealed_data`: what webhook::seal_test_data gives. With `max_pending` (0: any
/// number) the entity never has more test deliveries that have not ended, however many requests come at once.
/// With `bytes_per_day` (0: any number) its test events never store more than that in a day, deliveries
/// included. Throws OverQuota, and nothing was written.
std::vector<Webhook> queue_test_event(Session& session, EntityId entity, webhook::Event event,
                                      std::string_view sealed_data, std::uint64_t max_pending = 0,
                                      std::uint64_t bytes_per_day = 0);

}  // namespace store
