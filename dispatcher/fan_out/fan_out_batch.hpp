// Locks and reads a batch of notifications for the fan-out.
#pragma once

#include <set>
#include <vector>

#include "dispatcher/fan_out/fan_out_outcome.hpp"
#include "dispatcher/fan_out/fan_out_plan.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

struct FanOutBatch {
  std::vector<JudgedNotification> judged;   // to be fanned out or rejected, in the order of the rows
  Outcomes left_out;                        // the outcomes of all other rows
  std::set<delivery::EntityId> with_large;  // entities with data too long to be read with its row
};

/// Locks and reads those of `rows` that are pending and free, and checks their data. Requires a transaction.
/// Throws errors of the session or the server.
FanOutBatch lock_batch(store::Session& session, const std::vector<store::NotificationKey>& rows,
                       store::LockedBy locked_by);

template <class Notifications>
std::vector<delivery::NotificationId> ids_of(const Notifications& notifications) {
  std::vector<delivery::NotificationId> ids;
  ids.reserve(notifications.size());
  for (const auto& notification : notifications) ids.push_back(notification.id);
  return ids;
}

}  // namespace dispatcher
