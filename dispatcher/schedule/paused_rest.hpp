// Makes a webhook rest while the operator has paused the webhook, its entity or its host.
#pragma once

#include <map>
#include <vector>

#include "dispatcher/schedule/paused_parts.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/notifications/fan_out.hpp"

namespace dispatcher {

/// For a claim: sets `rest` of each paused webhook to at least the time until its pause ends. Notes these
/// webhooks in `paused`, so that they are due again when the pause ends.
void rest_paused(PausedParts& paused, std::vector<store::ReceivingWebhook>& receiving);
/// For a fan-out: sets `resting` to true for each paused webhook of the recipients.
void rest_paused(const PausedParts& paused, std::map<delivery::EntityId, store::Recipient>& recipients);

}  // namespace dispatcher
