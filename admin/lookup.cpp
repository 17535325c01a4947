#include "admin/lookup.hpp"

#include <algorithm>

#include "admin/errors.hpp"
#include "lib/webhook/key_file.hpp"

namespace admin {

namespace {

/// The ids of the keys in secrets.key_file; nullopt when this user cannot read the file.
std::optional<std::vector<std::string>> keys_in_file(const Context& context) {
  const auto keys = webhook::read_key_file_if_allowed(context.config.settings.secrets.key_file);
  return keys ? std::optional(keys->ids()) : std::nullopt;
}

}  // namespace

store::Webhook require_webhook(store::Session& session, store::WebhookId id) {
  auto hook = store::find_webhook(session, id);
  if (!hook)
    throw Failure("there is no webhook " + to_string(id) +
                  " (or its entity deleted it): `webhook list` shows them");
  return *std::move(hook);
}

store::Entity require_entity(store::Session& session, store::EntityId id) {
  const auto entities = store::list_entities(session);
  const auto found = std::ranges::find(entities, id, &store::Entity::id);
  if (found == entities.end())
    throw Failure("there is no entity " + to_string(id) + ": `entity list` shows them, `entity add --id " +
                  to_string(id) + " --name …` adds it");
  return *found;
}

Facts require_facts(Context& context, store::WebhookId id) {
  auto& session = context.session;
  auto hook = require_webhook(session, id);
  auto backlog = store::find_backlog(session, id);
  if (!backlog) require_webhook(session, id);  // throws if deleted in between
  if (!backlog) throw Failure("webhook " + to_string(id) + " was being changed: try again");
  return {std::move(hook),
          std::move(backlog).value(),
          store::read_pauses(session),
          store::list_running_outages(session),
          store::list_in_flight(session),
          keys_in_file(context)};
}

}  // namespace admin
