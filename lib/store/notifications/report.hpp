// Reports the outcome of an event's notifications to the operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A row of view notificaciones_resultado with the entity's name. The counts are numbers of deliveries.
struct ReportedNotification {
  NotificationId id = 0;
  EntityId entity = 0;
  std::optional<std::string> name{};  // unset: the entity does not exist
  UtcTime occurred{};
  std::string state{};        // pendiente, procesada, rechazada, cancelada
  std::int64_t webhooks = 0;  // all deliveries, one for each webhook
  std::int64_t delivered = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
  std::int64_t held = 0;
  std::int64_t cancelled = 0;
  std::string reason{};                     // the last failure, or the reason of the rejection
  std::optional<std::int64_t> hours_off{};  // whole_hours_between its occurrence and its fan-out or rejection
  std::int64_t expired = 0;                 // of `cancelled`
};

struct ReportPage {
  std::string event;
  UtcTime since;
  std::optional<UtcTime> until{};  // exclusive
  UtcTime after{};                 // time and id of the last notification read
  NotificationId after_id = 0;
};
/// Reads at most the next 1,000 notifications in the order in which they occurred, without test events, and
/// moves `page` past them.
std::vector<ReportedNotification> read_report(Session& session, ReportPage& page);

}  // namespace store
