// entity add|list|disable|enable

#include <algorithm>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/output/render.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/store/entities/entities.hpp"

namespace admin {

namespace {

json::Value to_row(const store::Entity& entity) {
  return json::Object{{"id", entity.id},
                      {"nombre", entity.name},
                      {"activa", entity.active},
                      {"fecha_alta", time_value(entity.created)}};
}

store::Entity find(store::Session& session, delivery::EntityId id) {
  const auto entities = store::list_entities(session);
  const auto found = std::ranges::find(entities, id, &store::Entity::id);
  if (found == entities.end())
    throw Failure("there is no entity " + to_string(id) + ": `entity list` shows them, `entity add --id " +
                  to_string(id) + " --name …` adds it");
  return *found;
}

Result add(Context& context, const Arguments& arguments) {
  const store::EntityId id = arguments.required_id();
  const auto name = arguments.line("name", 255).value();
  const bool added = store::add_entity(context.session, id, name);
  const auto entity = find(context.session, id);
  std::string text = "Entity " + to_string(id) + " (" + entity.name +
                     (added ? ") added." : ") was there already: its name is set.");
  if (!entity.active) text += " It is disabled: `entity enable " + to_string(id) + "` lets it in again.";
  return {to_row(entity), text};
}

Result list(Context& context, const Arguments&) {
  json::Array rows;
  for (const auto& entity : store::list_entities(context.session)) rows.push_back(to_row(entity));
  return {std::move(rows)};
}

Result set_active(Context& context, delivery::EntityId id, bool active) {
  const auto before = find(context.session, id);
  store::set_entity_active(context.session, id, active);
  const std::string subject = "Entity " + to_string(id) + " (" + before.name + ") ";
  const std::string state = active ? "enabled" : "disabled";
  const std::string effect =
      active ? ": its tokens are accepted and its deliveries are sent."
             : ": its tokens get 401, its notifications are rejected, its deliveries wait.";
  return {to_row(find(context.session, id)),
          subject + (before.active == active ? "was already " : "is now ") + state + effect};
}

Result disable(Context& context, const Arguments& arguments) {
  return set_active(context, arguments.required_id(), false);
}

Result enable(Context& context, const Arguments& arguments) {
  return set_active(context, arguments.required_id(), true);
}

}  // namespace

std::vector<Command> entity_commands() {
  return {
      {.words = "entity add",
       .summary = "Add an entity, or rename the one that has this id",
       .details = "The evaluation system knows the entity by this id.",
       .options = {.options = {{"id", "N", "its id in the evaluation system", true},
                               {"name", "TEXT", "its name, 1 to 255 characters", true}}},
       .example = "apientidades-admin entity add --id 7 --name 'Universidad de Ejemplo'",
       .recorded = Recorded::in_transaction,
       .run = add},
      {.words = "entity list",
       .summary = "List the entities: id, nombre, activa, fecha_alta",
       .example = "apientidades-admin entity list",
       .recorded = Recorded::never,
       .run = list},
      {.words = "entity disable",
       .summary = "Disable an entity until `entity enable`",
       .details =
           "Its tokens get 401, its notifications are rejected, its deliveries wait. Nothing is deleted.",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin entity disable 7",
       .recorded = Recorded::in_transaction,
       .run = disable},
      {.words = "entity enable",
       .summary = "Enable a disabled entity",
       .details =
           "Its waiting deliveries are sent. `notification retry` is for notifications that were rejected.",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin entity enable 7",
       .recorded = Recorded::in_transaction,
       .run = enable},
  };
}

}  // namespace admin
