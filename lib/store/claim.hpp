// Claiming what is due, by webhook: the backlog of a busy or resting one is never scanned.
#pragma once

#include <vector>

#include "store/lease.hpp"
#include "store/session.hpp"
#include "store/types.hpp"

namespace store {

/// What a round of the dispatcher needs to know before it does anything; one round trip.
struct QueueGlance {
  bool paused;
  bool pending_notifications;
  bool pending_deliveries;  // due or waiting
};
QueueGlance glance_at_queue(Session& session);

/// A webhook that may receive and has something due.
struct DueWebhook {
  Target target;
  EntityId entity;
  bool probing;  // one in flight only
};
/// All of them, by id: active, not deleted, not resting, of an active entity.
std::vector<DueWebhook> due_webhooks(Session& session);

struct ClaimRequest {
  WebhookId webhook;
  unsigned limit;  // 1 or more
};
/// Leases the oldest due deliveries of each webhook, up to its limit, in the order they fell due, in one
/// transaction. A webhook deleted or disabled meanwhile yields nothing; the delivery of a cancelled
/// notification is cancelled instead.
std::vector<LeasedDelivery> claim(Session& session, const std::vector<ClaimRequest>& requests,
                                  const Lease& lease);

}  // namespace store
