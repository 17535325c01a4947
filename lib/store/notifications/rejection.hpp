// Rejects notifications that the database refuses for their content (docs/delivery.md#bad-rows).
#pragma once

#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Returns the text for the column `error`, in Spanish, at most 500 bytes.
std::string refusal_text(const Refused& refusal);

struct RejectedNotification {
  NotificationId id;
  std::string reason;
};
/// Changes pendiente to rechazada, in one statement and transaction, also rows that violate a CHECK. Returns
/// how many it changed. Throws LockTimeout if one of the rows, or its place in an index, is locked, on
/// MariaDB at once.
std::uint64_t reject_notifications(Session& session, const std::vector<RejectedNotification>& rejected);

}  // namespace store
