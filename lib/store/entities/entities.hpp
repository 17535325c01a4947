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

/// Adds the entity, or renames an existing one. Returns true when it was added.
bool add_entity(Session& session, EntityId id, std::string_view name);
std::vector<Entity> list_entities(Session& session);
/// Enables or disables the entity. A disabled entity's tokens get 401, its notifications are rejected and its
/// deliveries are held. Returns false when there is no such entity.
bool set_entity_active(Session& session, EntityId id, bool active);

}  // namespace store
