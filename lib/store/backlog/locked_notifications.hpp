// Pending notifications that another session keeps locked, for the operator.
#pragma once

#include <optional>
#include <string>

#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/session/session.hpp"

namespace store {

struct LockedNotifications {
  std::size_t
      count;  // among the hundred that have waited longest, one of each entity, and of those for later
  NotificationKey first;  // the one that has waited longest
  std::string holders;    // which transactions may hold the locks, or why none is named
};

/// Returns the pending notifications older than a minute that stay locked while this function looks at them
/// twice; nullopt if there are none. Not to be called within a transaction.
std::optional<LockedNotifications> find_locked_notifications(Session& session);

}  // namespace store
