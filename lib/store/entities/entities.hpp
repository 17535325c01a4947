// Table `entidades`.
#pragma once

#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct Entity {
  EntityId id;
  std::string name;
  bool active;
  UtcTime created;
};

/// Adds, or renames the one that exists. True when it was added.
bool add_entity(Session& session, EntityId id, std::string_view name);
std::vector<Entity> list_entities(Session& session);
/// A disabled entity's tokens answer 401, its notifications are rejected and its deliveries wait. False: no
/// such entity.
bool set_entity_active(Session& session, EntityId id, bool active);

}  // namespace store
