// Leases deliveries that were found without a lock: locks those that are still pending, and skips those that
// another session has locked. On a cluster a lock covers one node only, so the update itself requires
// `pendiente`.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "lib/store/deliveries/lease.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/target.hpp"

namespace store {

struct LeaseCandidate {
  DeliveryId id;
  WebhookId webhook;
};

/// Leased deliveries and their targets, as they were when the lease was committed, shortly before `at`.
struct Leased {
  std::vector<LeasedDelivery> deliveries;  // in the order in which they fall due
  std::map<WebhookId, Target> targets;     // the targets of `deliveries`
  platform::MonotonicTime at{};
  std::vector<DeliveryId> foreign{};  // deliveries cancelled because their notification is another entity's
};

struct LeasedCandidates {
  Leased leased;
  /// Webhooks that may not receive, that are locked, or that have a locked entity.
  std::set<WebhookId> skipped;
  std::set<DeliveryId> put_off;  // left pending, because bytes_per_claim was reached
  /// How many deliveries of each webhook stay pending, because this release cannot read their notification.
  std::map<WebhookId, unsigned> unreadable;
};

/// Leases the candidates for attempts of this kind, in their order and up to bytes_per_claim, in one
/// transaction. Waits for no lock. Skips deliveries that are not pending or are locked and, for
/// AttemptKind::early, those that already had an early attempt. Cancels deliveries of cancelled
/// notifications, and those in Leased::foreign. Throws Refused when the database refuses the content of a
/// row.
LeasedCandidates lease_candidates(Session& session, const std::vector<LeaseCandidate>& candidates,
                                  delivery::AttemptKind kind, const Lease& lease);

}  // namespace store
