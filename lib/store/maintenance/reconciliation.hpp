// Makes deliveries follow their webhooks: cancels those of a deleted webhook, holds pending ones of an
// inactive webhook, and releases held ones of a webhook that may receive. The batches are short, so that they
// disturb neither the sending of deliveries nor the evaluation system's inserts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk over the webhooks with pending deliveries, then over those with held ones. Without such deliveries
/// each part costs one seek, whatever the number of webhooks. Start with a default ReconcileWalk, call
/// reconcile_some until `done`, and start the next walk with next_walk().
struct ReconcileWalk {
  bool held = false;    // true: in the second part, over held deliveries
  WebhookId after = 0;  // the webhooks up to this one have been read
  struct OutOfPlace {
    WebhookId webhook;
    bool deleted;
  };
  std::vector<OutOfPlace> found{};  // webhooks whose turn is still to come
  unsigned webhooks = 0;            // found so far
  unsigned batch = batch_rows;      // the deliveries of one webhook that this walk changes at most
  bool done = false;
  struct Changed {
    std::uint64_t cancelled = 0, held = 0, released = 0;
    std::uint64_t all() const { return cancelled + held + released; }
    Changed& operator+=(const Changed& more) {
      cancelled += more.cancelled, held += more.held, released += more.released;
      return *this;
    }
  } changed{};            // deliveries changed so far
  std::string refusal{};  // the last delivery that the database refused to change, and why
};

/// The walk after `ended`. The more webhooks `ended` found, the fewer deliveries of each the next walk
/// changes: so a webhook with few deliveries soon has its turn, however many the others have.
ReconcileWalk next_walk(const ReconcileWalk& ended);

/// Takes one step of the walk: reads some webhooks, or changes a batch of one webhook's deliveries.
///  * pendiente or retenida, the webhook is deleted -> cancelada; entregada if an earlier attempt got a 2xx.
///  * pendiente, the webhook is inactive or its entity disabled -> retenida.
///  * retenida, the webhook may receive and no longer rests -> pendiente, due now. This also releases
///    deliveries that were held while the webhook was being enabled, or because a secret was unreadable.
/// Skips locked deliveries, and those that the database refuses to change. Each webhook has one turn in a
/// walk, so further walks follow until one changes nothing.
void reconcile_some(Session& session, ReconcileWalk& walk);

}  // namespace store
