// Leases deliveries that were found without a lock: locks those that are still pending, and skips those that
// another session has locked. On a database cluster a row lock holds on one node only, so the UPDATE that
// leases the deliveries also requires the state `pendiente`.
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

/// Leased deliveries and their targets, as they were at the commit of the lease.
struct Leased {
  std::vector<LeasedDelivery> deliveries;  // in the order in which they fall due
  std::map<WebhookId, Target> targets;     // the targets of `deliveries`
  platform::MonotonicTime at{};            // shortly after that commit
  std::vector<DeliveryId> foreign{};  // deliveries cancelled because their notification is another entity's
  std::size_t expired = 0;            // deliveries cancelled because their notification has expired
};

struct LeasedCandidates {
  Leased leased;
  /// Webhooks that may not receive, that are locked, or that have a locked entity.
  std::set<WebhookId> skipped;
  std::set<DeliveryId> put_off;  // left pending, because bytes_per_claim was reached
  /// How many deliveries of each webhook stay pending, because this release cannot read their notification.
  std::map<WebhookId, unsigned> unreadable;
};

/// Leases candidates, in the order of `candidates`, in one transaction. The data of the leased deliveries has
/// at most bytes_per_claim (claim.hpp) bytes in all. Waits for no lock. Skips deliveries that are not pending
/// or are locked. Cancels deliveries of cancelled or expired notifications, and those in Leased::foreign.
/// Throws Refused when the database refuses the content of a row.
LeasedCandidates lease_candidates(Session& session, const std::vector<LeaseCandidate>& candidates,
                                  const Lease& lease);

}  // namespace store
