// entity add|list|disable|enable

#include <set>

#include "admin/commands.hpp"
#include "admin/lookup.hpp"
#include "admin/output/explanation.hpp"
#include "admin/output/render.hpp"
#include "lib/store/backlog/webhook_backlog.hpp"
#include "lib/store/entities/tokens.hpp"
#include "lib/store/notices/facts.hpp"

namespace admin {

namespace {

json::Object to_row(const store::Entity& entity) {
  return {{"id", entity.id},
          {"nombre", entity.name},
          {"activa", entity.active},
          {"fecha_alta", time_value(entity.created)}};
}

Result add(Context& context, const Arguments& arguments) {
  const store::EntityId id = arguments.required_id();
  const auto name = arguments.line("name", 255).value();
  const bool added = store::add_entity(context.session, id, name);
  const auto entity = require_entity(context.session, id);
  std::string text = "Entity " + to_string(id) + " (" + entity.name +
                     (added ? ") added." : ") was there already: its name is set.");
  if (!entity.active) text += " It is disabled: `entity enable " + to_string(id) + "` lets it in again.";
  return {to_row(entity), text};
}

Result list(Context& context, const Arguments& arguments) {
  const bool all = !arguments.has("without-contact");
  std::set<store::EntityId> listed;
  if (!all)
    for (const auto& one : store::read_entities_without_contact(context.session)) listed.insert(one.entity);
  json::Array rows;
  for (const auto& entity : store::list_entities(context.session))
    if (all || listed.contains(entity.id)) rows.emplace_back(to_row(entity));
  return {std::move(rows)};
}

/// What disabling or enabling an entity concerns. Each webhook's deliveries are counted up to a limit
/// (store::WebhookBacklog::most_counted).
struct Extent {
  std::int64_t webhooks = 0, tokens = 0, waiting = 0, held = 0;
};

Extent extent_of(store::Session& session, store::EntityId id) {
  Extent extent;
  store::ListFilter filter;
  filter.entity = id;
  for (const auto& hook : store::list_webhooks(session, filter)) {
    const auto backlog = store::find_backlog(session, hook.id);
    if (!backlog) continue;  // deleted in between
    ++extent.webhooks;
    extent.waiting += backlog->due + backlog->later;
    if (hook.active) extent.held += backlog->held;
  }
  const auto now = platform::utc_now();
  extent.tokens = std::ranges::count_if(store::list_tokens(session, id), [&](const store::Token& token) {
    return !token.revoked && (!token.expires || *token.expires > now);
  });
  return extent;
}

Result preview(Context& context, const store::Entity& entity, bool active) {
  const auto extent = extent_of(context.session, entity.id);
  const std::string subject = "Entity " + to_string(entity.id) + " (" + entity.name + ") ";
  const std::string change = entity.active == active ? "is already " : "would be ";
  const auto tokens =
      std::to_string(extent.tokens) + " tokens, " + std::to_string(extent.webhooks) + " webhooks";
  const auto deliveries =
      active ? "deliveries released: " + counted(extent.held) : "deliveries held: " + counted(extent.waiting);
  auto row = to_row(entity);
  row.emplace_back("tokens", extent.tokens);
  row.emplace_back("webhooks", extent.webhooks);
  row.emplace_back("entregas_pendientes", extent.waiting);
  row.emplace_back("entregas_retenidas", extent.held);
  return {simulated(std::move(row)),
          subject + change + (active ? "enabled: " : "disabled: ") + tokens + "; " + deliveries + "."};
}

Result set_active(Context& context, const Arguments& arguments, bool active) {
  const store::EntityId id = arguments.required_id();
  const auto before = require_entity(context.session, id);
  if (arguments.is_dry_run()) return preview(context, before, active);
  store::set_entity_active(context.session, id, active);
  const std::string subject = "Entity " + to_string(id) + " (" + before.name + ") ";
  const std::string state = active ? "enabled" : "disabled";
  const std::string effect =
      active ? ": its tokens are accepted and its deliveries are sent."
             : ": its tokens get 401, its notifications are rejected, its deliveries wait.";
  return {to_row(require_entity(context.session, id)),
          subject + (before.active == active ? "was already " : "is now ") + state + effect};
}

Result disable(Context& context, const Arguments& arguments) { return set_active(context, arguments, false); }

Result enable(Context& context, const Arguments& arguments) { return set_active(context, arguments, true); }

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
       .options =
           {.options = {{"without-contact", "",
                         "those with a webhook and no confirmed contact: they are told nothing by mail"}}},
       .example = "apientidades-admin entity list",
       .recorded = Recorded::never,
       .run = list},
      {.words = "entity disable",
       .summary = "Disable an entity until `entity enable`",
       .details =
           "Its tokens get 401, its notifications are rejected, its deliveries wait. Nothing is deleted.",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin entity disable 7",
       .recorded = Recorded::in_transaction,
       .run = disable},
      {.words = "entity enable",
       .summary = "Enable a disabled entity",
       .details =
           "Its waiting deliveries are sent. `notification retry` is for notifications that were rejected.",
       .options = {.id = IdWord::required, .options = {dry_run}},
       .example = "apientidades-admin entity enable 7",
       .recorded = Recorded::in_transaction,
       .run = enable},
  };
}

}  // namespace admin
