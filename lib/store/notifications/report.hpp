// What became of an event's notifications, for who answers for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A row of notificaciones_resultado, with the entity's name. The counts are of its deliveries.
struct ReportedNotification {
  NotificationId id = 0;
  EntityId entity = 0;
  std::optional<std::string> name{};  // unset: there is no such entity
  UtcTime occurred{};
  std::string state{};  // pendiente, procesada, rechazada, cancelada
  std::int64_t webhooks = 0;
  std::int64_t delivered = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
  std::int64_t held = 0;
  std::int64_t cancelled = 0;
  std::string reason{};  // the last failure, or that of the rejection
};

struct ReportPage {
  std::string event;
  UtcTime since;
  std::optional<UtcTime> until{};  // exclusive
  UtcTime after{};                 // the occurrence, and the id, of the last one read
  NotificationId after_id = 0;
};
/// The next 1,000 at most, in the order in which they occurred, test events apart; `page` is moved past them.
std::vector<ReportedNotification> read_report(Session& session, ReportPage& page);

}  // namespace store
