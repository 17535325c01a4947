// Claiming ahead of the schedule (docs/delivery.md#recovery-and-probes): of a webhook that has answered again
// everything that waits for a retry; of one that fails, one delivery now and then. What a webhook has due is
// not looked at here.
#pragma once

#include <optional>
#include <vector>

#include "lib/store/deliveries/lease.hpp"
#include "lib/store/deliveries/lease_candidates.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A webhook of which something is to be tried ahead of its schedule, since a moment of the database's clock.
struct EarlyWebhook {
  UtcTime since{};
  WebhookId id = 0;
  bool failing = false;                                   // its last attempt failed: one delivery is a probe
  auto operator<=>(const EarlyWebhook&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};
/// The next of them behind `after`, in the order of `since`; one that is past. What a call costs does not
/// depend on how much waits for them.
std::vector<EarlyWebhook> find_early(Session& session, UtcTime since, WebhookId after, unsigned limit);

/// Ends it, or begins it again after so long: for those that are still as they were found, and that nobody
/// holds. Returns these.
struct EarlyChange {
  EarlyWebhook webhook;
  std::optional<platform::Milliseconds> again;
};
std::vector<WebhookId> change_early(Session& session, const std::vector<EarlyChange>& changes);

/// The deliveries that wait for a retry, of a webhook that has answered again: oldest first.
struct EarlyRequest {
  WebhookId webhook;
  unsigned limit;        // 1 or more
  DeliveryId after = 0;  // those up to here have been looked at
};
struct EarlyClaim {
  Leased leased;
  struct Reach {
    WebhookId webhook;
    DeliveryId last = 0;   // looked at up to here
    bool more = false;     // there may be others behind it
    bool skipped = false;  // somebody holds the webhook's row, or it may no longer receive
    std::optional<platform::Milliseconds> asked;  // the shortest Retry-After that was respected
  };
  std::vector<Reach> reached;  // in the order of the requests
};
EarlyClaim claim_early(Session& session, const std::vector<EarlyRequest>& requests, const Lease& lease);

/// One delivery of each of these webhooks: of the oldest that wait for a retry the one that has not been
/// tried for longest, and that no Retry-After forbids. Those of which one was leased, or none may be now, are
/// due for another probe after `interval`; those of which nothing waits, no longer. Another dispatcher that
/// asks at the same time gets none of these.
Leased claim_probes(Session& session, const std::vector<EarlyWebhook>& webhooks,
                    platform::Milliseconds interval, const Lease& lease);

}  // namespace store
