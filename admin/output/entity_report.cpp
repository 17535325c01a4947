#include "admin/output/entity_report.hpp"

#include <algorithm>
#include <utility>

namespace admin {

namespace {

std::string reason_of(const store::ReportedNotification& notification) {
  if (!notification.reason.empty()) return notification.reason;
  if (notification.state == "procesada" && notification.webhooks == 0)
    return "La entidad no tenía ningún webhook suscrito";
  if (notification.state == "cancelada" && notification.webhooks == 0)
    return "La notificación ha sido anulada";
  return notification.held > 0 ? "El webhook está desactivado: la entrega queda retenida" : "";
}

}  // namespace

void add_up(EntityReports& reports, const store::ReportedNotification& notification) {
  auto& report = reports[notification.entity];
  const auto itself = [&](std::string_view state) {
    return notification.webhooks == 0 && notification.state == state ? 1 : 0;
  };
  if (notification.name) report.name = notification.name;
  report.webhooks = std::max(report.webhooks, notification.webhooks);
  ++report.notifications;
  if (notification.delivered > 0) ++report.reached;
  report.delivered += notification.delivered;
  report.pending += notification.pending + itself("pendiente");
  report.failed += notification.failed;
  report.held += notification.held;
  report.rejected += itself("rechazada");
  report.cancelled += notification.cancelled + itself("cancelada");
  report.expired += notification.expired;
  if (auto reason = reason_of(notification); !reason.empty()) report.reason = std::move(reason);
}

json::Object to_row(store::EntityId entity, const EntityReport& report) {
  return {{"entidad_id", entity},           {"nombre", report.name},
          {"webhooks", report.webhooks},    {"notificaciones", report.notifications},
          {"entregadas", report.delivered}, {"pendientes", report.pending},
          {"fallidas", report.failed},      {"retenidas", report.held},
          {"rechazadas", report.rejected},  {"canceladas", report.cancelled},
          {"ultimo_error", report.reason},  {"caducadas", report.expired}};
}

std::string summary_of(const EntityReports& reports) {
  std::int64_t notifications = 0;
  std::int64_t all = 0;
  std::int64_t none = 0;
  for (const auto& [entity, report] : reports) {
    notifications += report.notifications;
    if (report.reached == report.notifications) ++all;
    if (report.reached == 0) ++none;
  }
  const auto entities = static_cast<std::int64_t>(reports.size());
  return std::to_string(entities) + " entities, " + std::to_string(notifications) +
         " notifications: " + std::to_string(all) + " entities received all of theirs, " +
         std::to_string(entities - all - none) + " some, " + std::to_string(none) + " none";
}

}  // namespace admin
