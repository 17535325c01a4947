#include "lib/store/entities/entities.hpp"

namespace store {

namespace {

constexpr std::string_view lock_entity = R"sql(
  SELECT 1 FROM entidades WHERE id = ? FOR UPDATE)sql";
constexpr std::string_view rename_entity = R"sql(
  UPDATE entidades SET nombre = ? WHERE id = ?)sql";
constexpr std::string_view insert_entity = R"sql(
  INSERT INTO entidades (id, nombre) VALUES (?, ?))sql";

constexpr std::string_view all_entities = R"sql(
  SELECT id, nombre, activa, CAST(fecha_alta AS CHAR) AS fecha_alta FROM entidades ORDER BY id)sql";

constexpr std::string_view set_active = R"sql(
  UPDATE entidades SET activa = ? WHERE id = ?)sql";
constexpr std::string_view entity_exists = R"sql(
  SELECT 1 FROM entidades WHERE id = ?)sql";

}  // namespace

bool add_entity(Session& session, EntityId id, std::string_view name) {
  return transaction(session, [&] {
    const bool known = !session.query(lock_entity, id).empty();
    if (known) {
      session.update(rename_entity, name, id);
    } else {
      session.update(insert_entity, id, name);
    }
    return !known;
  });
}

std::vector<Entity> list_entities(Session& session) {
  std::vector<Entity> result;
  for (const auto& row : session.query(all_entities)) {
    result.push_back({row.integer("id"), row.text("nombre"), row.boolean("activa"), row.time("fecha_alta")});
  }
  return result;
}

bool set_entity_active(Session& session, EntityId id, bool active) {
  // The update counts only rows that it changes: its count is 0 for an unknown entity, and also for an entity
  // that already has this state.
  session.update(set_active, active, id);
  return !session.query(entity_exists, id).empty();
}

}  // namespace store
