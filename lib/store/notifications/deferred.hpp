// Notifications that are for later: aplazada from their fan-out until `no_antes_de`, and listed by that time
// in notificaciones_aplazadas, so that one seek finds out that none is due.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk along the list, up to what is due.
struct DeferredWalk {
  UtcTime after{};
  NotificationId after_id{};
  bool done = false;
  std::uint64_t released = 0;
  std::set<EntityId> entities{};  // of what was released
  std::string refusal{};          // of the last row that the database refused; empty: none
};

/// Whether a notification of the list is due.
bool any_deferred_due(Session& session);

/// Makes the next due notifications pendiente, at most batch_rows, and takes them off the list. A locked or
/// refused one stays for the next walk. Throws DatabaseError.
void release_deferred(Session& session, DeferredWalk& walk);

}  // namespace store
