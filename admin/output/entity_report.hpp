// Sums an event's notifications by entity: which entities were reached, which were not, and why. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/json/json.hpp"
#include "lib/store/notifications/report.hpp"

namespace admin {

struct EntityReport {
  std::optional<std::string> name{};  // unset: the entity does not exist
  std::int64_t webhooks = 0;          // the largest number of webhooks for one notification
  std::int64_t notifications = 0;
  std::int64_t reached = 0;  // notifications that at least one webhook received
  // Numbers of deliveries, but `rejected` counts notifications. A notification without deliveries counts once
  // in `pending` or `cancelled` if that is its state.
  std::int64_t delivered = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
  std::int64_t held = 0;
  std::int64_t rejected = 0;
  std::int64_t cancelled = 0;
  std::int64_t expired = 0;  // of `cancelled`
  std::string reason{};      // the last reason why something was not delivered
};

using EntityReports = std::map<store::EntityId, EntityReport>;

/// Adds a notification. Call it for notifications in the order in which they occurred.
void add_up(EntityReports& reports, const store::ReportedNotification& notification);

/// Returns entidad_id, nombre, webhooks, notificaciones, entregadas, pendientes, fallidas, retenidas,
/// rechazadas, canceladas, ultimo_error, caducadas.
json::Object to_row(store::EntityId entity, const EntityReport& report);

/// Returns "50 entities, 52 notifications: 40 entities received all of theirs, 3 some, 7 none".
std::string summary_of(const EntityReports& reports);

}  // namespace admin
