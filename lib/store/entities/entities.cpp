#include "store/entities/entities.hpp"

namespace store {

bool add_entity(Session& session, EntityId id, std::string_view name) {
  return transaction(session, [&] {
    const bool known = !session.query("SELECT 1 FROM entidades WHERE id = ? FOR UPDATE", id).empty();
    if (known) {
      session.update("UPDATE entidades SET nombre = ? WHERE id = ?", name, id);
    } else {
      session.update("INSERT INTO entidades (id, nombre) VALUES (?, ?)", id, name);
    }
    return !known;
  });
}

std::vector<Entity> list_entities(Session& session) {
  std::vector<Entity> result;
  for (const auto& row : session.query(
           "SELECT id, nombre, activa, " STORE_EPOCH_MS("fecha_alta") " FROM entidades ORDER BY id")) {
    result.push_back({row.integer(0), row.text(1), row.boolean(2), row.time(3)});
  }
  return result;
}

bool set_entity_active(Session& session, EntityId id, bool active) {
  // Affected rows are changed rows: an entity that is so already must count as found.
  session.update("UPDATE entidades SET activa = ? WHERE id = ?", active, id);
  return !session.query("SELECT 1 FROM entidades WHERE id = ?", id).empty();
}

}  // namespace store
