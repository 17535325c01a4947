// Deliveries follow their webhooks: what is pending of a deleted webhook is cancelled, of an inactive one
// held, and what is held of one that may receive is released. In short batches that disturb neither
// deliveries nor inserts.
#pragma once

#include <cstdint>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk over the webhooks that have something pending, then over those that have something held. With
/// nothing of the kind it costs one seek each, however many webhooks there are. Begin with a default one,
/// until it is done.
struct ReconcileWalk {
  bool held = false;    // which of the two
  WebhookId after = 0;  // the last webhook that it is done with
  bool done = false;
  struct Changed {
    std::uint64_t cancelled = 0, held = 0, released = 0;
  } changed;  // deliveries, so far
};

/// One step of the walk: looks at some webhooks more, and changes one batch of deliveries at most.
///  * pendiente or retenida, the webhook deleted -> cancelada.
///  * pendiente, the webhook inactive or its entity disabled -> retenida.
///  * retenida, the webhook may receive (again) -> pendiente, due now: also what was held because the webhook
///  was
///    enabled at the same moment, or because its secret could not be read and the rest for it has passed.
/// Deliveries that somebody holds are skipped: maintenance waits for nobody.
void reconcile_some(Session& session, ReconcileWalk& walk);

}  // namespace store
