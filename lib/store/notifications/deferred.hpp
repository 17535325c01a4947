// Notifications that are for later. From their fan-out until `no_antes_de` they have that time as
// `aplazada_hasta`, which the index notificaciones_por_expandir has before the entity: so the search for work
// does not see them, and one seek finds out that none is due.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk along that index, up to what is due.
struct DeferredWalk {
  UtcTime after{};
  EntityId after_entity{};
  NotificationId after_id{};
  bool done = false;
  std::uint64_t released = 0;
  std::set<EntityId> entities{};  // of what was released
  std::string refusal{};          // of the last row that the database refused; empty: none
};

/// Whether a deferred notification is due.
bool any_deferred_due(Session& session);

/// Releases the next due notifications to fan-out, at most batch_rows. A locked or refused one stays for the
/// next walk. Throws DatabaseError.
void release_deferred(Session& session, DeferredWalk& walk);

}  // namespace store
