// Leasing deliveries that were found without a lock: who gets them is decided here.
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

/// What was leased, and where it goes: as it stood when the lease was committed, and so a moment before `at`.
struct Leased {
  std::vector<LeasedDelivery> deliveries;  // in the order they fall due
  std::map<WebhookId, Target> targets;     // of these
  platform::MonotonicTime at{};
  std::vector<DeliveryId> foreign{};  // cancelled: a notification of another entity than the webhook's
};

struct LeasedCandidates {
  Leased leased;
  std::set<WebhookId> skipped;   // somebody holds its row, or it may no longer receive: nothing was leased
  std::set<DeliveryId> put_off;  // the batch is large enough without them
  std::map<WebhookId, unsigned> unreadable;  // left pending: this version does not know their event
};

/// Leases the candidates for attempts of this kind, in their order and as far as bytes_per_claim goes, in one
/// transaction; waits for no lock. What is no longer pending, or what somebody holds, is passed over; so is
/// one that has been tried early, of AttemptKind::early. The delivery of a cancelled notification is
/// cancelled instead. Throws Refused when the database refuses one of the rows for its content.
LeasedCandidates lease_candidates(Session& session, const std::vector<LeaseCandidate>& candidates,
                                  delivery::AttemptKind kind, const Lease& lease);

}  // namespace store
