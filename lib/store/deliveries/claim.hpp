// Claiming what is due, by webhook: the backlog of a busy or resting one is never scanned.
#pragma once

#include <vector>

#include "store/deliveries/lease.hpp"
#include "store/session/session.hpp"
#include "store/types.hpp"
#include "store/webhooks/target.hpp"

namespace store {

/// A webhook that may receive: active, not deleted, of an active entity.
struct ReceivingWebhook {
  Target target;
  bool probing;                 // one in flight only
  platform::Milliseconds rest;  // before anything of it may be claimed: 0 or more
};
/// Those of `webhooks` that may receive, by id.
std::vector<ReceivingWebhook> load_receiving(Session& session, const std::vector<WebhookId>& webhooks);

struct ClaimRequest {
  WebhookId webhook;
  unsigned limit;  // 1 or more
  /// Nothing due before this is looked at, by the database's clock: an index keeps the entries of what has
  /// been claimed for as long as a backup holds a snapshot open, and to walk past them takes time. The
  /// default looks at all.
  UtcTime from{};
};
struct Claim {
  std::vector<LeasedDelivery> deliveries;  // in the order they fell due
  /// How far each webhook was looked at, in the order of the requests.
  struct Reach {
    WebhookId webhook;
    unsigned found;  // as many as the limit: there may be more
    UtcTime last;    // when the last one found fell due
  };
  std::vector<Reach> reached;
};
/// Leases the oldest due deliveries of each webhook, up to its limit, in one transaction. A webhook deleted
/// or disabled meanwhile yields nothing; the delivery of a cancelled notification is cancelled instead.
Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease);

}  // namespace store
