// Claims deliveries ahead of their schedule (docs/delivery.md#recovery-and-probes): for recovery, all that
// wait for a retry; as a probe, one delivery of a failing webhook. Does not read due deliveries.
#pragma once

#include <optional>
#include <vector>

#include "lib/store/deliveries/lease.hpp"
#include "lib/store/deliveries/lease_candidates.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A webhook that gets attempts ahead of its schedule, from `since` on, by the database's clock.
struct EarlyWebhook {
  UtcTime since{};
  WebhookId id = 0;
  bool failing = false;                                   // its last attempt failed, so it gets a probe
  auto operator<=>(const EarlyWebhook&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};
/// Finds the next webhooks after (`since`, `after`), in the order of time and id, if their time has come. The
/// cost does not depend on their backlogs.
std::vector<EarlyWebhook> find_early(Session& session, UtcTime since, WebhookId after, unsigned limit);

/// Ends the early attempts of a webhook, or starts them again after `again`. Skips webhooks with another
/// `since` or a locked row; returns the webhooks that it changed.
struct EarlyChange {
  EarlyWebhook webhook;
  std::optional<platform::Milliseconds> again;
};
std::vector<WebhookId> change_early(Session& session, const std::vector<EarlyChange>& changes);

/// Asks for the deliveries of a recovered webhook that wait for a retry, oldest first.
struct EarlyRequest {
  WebhookId webhook;
  unsigned limit;        // 1 or more
  DeliveryId after = 0;  // reads only deliveries after this id
};
struct EarlyClaim {
  Leased leased;
  struct Reach {
    WebhookId webhook;
    DeliveryId last = 0;                          // the last id that was read
    bool more = false;                            // there may be further ones
    bool skipped = false;                         // the webhook's row is locked, or it may not receive
    std::optional<platform::Milliseconds> asked;  // the shortest running Retry-After that was respected
  };
  std::vector<Reach> reached;  // in the order of the requests
};
EarlyClaim claim_early(Session& session, const std::vector<EarlyRequest>& requests, const Lease& lease);

/// Leases one delivery of each webhook as a probe: among the oldest that wait for a retry and have no running
/// Retry-After, the one with the earliest last attempt. A webhook with waiting deliveries gets its next probe
/// after `interval`, even if none can be leased now; one without gets no more. Another dispatcher that calls
/// this at the same time gets none of these webhooks.
Leased claim_probes(Session& session, const std::vector<EarlyWebhook>& webhooks,
                    platform::Milliseconds interval, const Lease& lease);

}  // namespace store
