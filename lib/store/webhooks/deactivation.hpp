// Deactivates webhooks that answered 410 or have failed for too long
// (docs/delivery.md#a-webhook-that-keeps-failing).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A webhook that answered 410.
struct GoneWebhook {
  WebhookId webhook;
  std::optional<std::string> url;  // that answered; unset: not known
};

/// Deactivates the webhooks in `gone` that still have that URL, and those in `failed` that have failed for
/// longer than `disable_after` (0: never). A failure of each in `failed` has just been recorded. Requires a
/// transaction. Leaves out a failed webhook with a row that another session has locked: it is judged again at
/// its next failure. Returns the deactivated ones.
std::vector<WebhookId> deactivate(Session& session, const std::vector<GoneWebhook>& gone,
                                  const std::vector<WebhookId>& failed, platform::Milliseconds disable_after);

/// Locks the rows of these webhooks that no other session has locked, in the order of their ids, and returns
/// these ids. Requires a transaction.
std::vector<WebhookId> lock_webhooks(Session& session, std::vector<WebhookId> webhooks);

}  // namespace store
