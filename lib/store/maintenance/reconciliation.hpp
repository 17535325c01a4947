// Makes deliveries follow their webhooks: cancels those of a deleted webhook, holds pending ones of an
// inactive webhook, and releases held ones of a webhook that may receive. The batches are short, so that they
// disturb neither the sending of deliveries nor the evaluation system's inserts.
#pragma once

#include <cstdint>
#include <string>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk over the webhooks with pending deliveries, then over those with held ones. Without such deliveries
/// each part costs one seek, whatever the number of webhooks. Start with a default ReconcileWalk, and call
/// reconcile_some until `done`.
struct ReconcileWalk {
  bool held = false;    // true: in the second part, over held deliveries
  WebhookId after = 0;  // the last finished webhook
  bool done = false;
  struct Changed {
    std::uint64_t cancelled = 0, held = 0, released = 0;
  } changed;            // deliveries changed so far
  std::string refusal;  // the last delivery that the database refused to change, and why
};

/// Takes one step of the walk: reads some webhooks and changes at most one batch of deliveries.
///  * pendiente or retenida, the webhook is deleted -> cancelada; entregada if an earlier attempt got a 2xx.
///  * pendiente, the webhook is inactive or its entity disabled -> retenida.
///  * retenida, the webhook may receive and no longer rests -> pendiente, due now. This also releases
///    deliveries that were held while the webhook was being enabled, or because a secret was unreadable.
/// Skips locked deliveries, and those that the database refuses to change.
void reconcile_some(Session& session, ReconcileWalk& walk);

}  // namespace store
