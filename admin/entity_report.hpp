// Notifications of an event, added up by entity: whom it has reached, whom not, and why. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/json/json.hpp"
#include "lib/store/notifications/report.hpp"

namespace admin {

struct EntityReport {
  std::optional<std::string> name{};  // unset: there is no such entity
  std::int64_t webhooks = 0;          // how many one of its notifications went to, at most
  std::int64_t notifications = 0;
  std::int64_t reached = 0;  // notifications that one of its webhooks has
  // Deliveries; a notification that has come to none yet, or never will, is one of what it is itself.
  std::int64_t delivered = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
  std::int64_t held = 0;
  std::int64_t rejected = 0;
  std::int64_t cancelled = 0;
  std::string reason{};  // the last one that says why something has not arrived
};

using EntityReports = std::map<store::EntityId, EntityReport>;

/// Notifications come in the order in which they occurred.
void add_up(EntityReports& reports, const store::ReportedNotification& notification);

/// entidad_id, nombre, webhooks, notificaciones, entregadas, pendientes, fallidas, retenidas, rechazadas,
/// canceladas, ultimo_error.
json::Object to_row(store::EntityId entity, const EntityReport& report);

/// "50 entities, 52 notifications: 40 entities have all of theirs, 3 some of them, 7 none"
std::string summary_of(const EntityReports& reports);

}  // namespace admin
