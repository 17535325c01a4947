// Finds what a command line names. Each function throws Failure if the object does not exist.
#pragma once

#include "admin/command.hpp"
#include "admin/output/explanation.hpp"
#include "lib/store/entities/entities.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace admin {

store::Webhook require_webhook(store::Session& session, store::WebhookId id);
store::Entity require_entity(store::Session& session, store::EntityId id);
/// What explains why the webhook's deliveries wait.
Facts require_facts(Context& context, store::WebhookId id);

}  // namespace admin
