// Claims deliveries that wait for a retry ahead of their schedule (docs/delivery.md#recovery-and-probes): one
// delivery of a failing webhook, as a probe; several deliveries of a recovered webhook.
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
  bool failing = false;                                   // true: the last attempt failed, so a probe is due
  auto operator<=>(const EarlyWebhook&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};
/// Finds the next webhooks after (`since`, `after`), in the order of time and id; none with a time in the
/// future. The cost does not depend on their backlogs.
std::vector<EarlyWebhook> find_early(Session& session, UtcTime since, WebhookId after, unsigned limit);

/// A new time for a webhook's attempts ahead of the schedule.
struct EarlyChange {
  EarlyWebhook webhook;
  std::optional<platform::Milliseconds> again;  // the time until they start again; unset: they end
};
/// Makes the changes, and returns the webhooks changed. Skips a webhook if another session has locked its
/// row, or the time in the row is not `since` any more.
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
    DeliveryId last = 0;  // the last id that was read
    bool more = false;    // true: further deliveries may wait
    /// True: nothing was leased, because the webhook may not receive, or because its row or the row of its
    /// entity is locked.
    bool skipped = false;
    /// The time until the first Retry-After of the deliveries read ends; unset: none of them waits for one.
    std::optional<platform::Milliseconds> asked;
    bool unreadable = false;  // true: this release cannot read some deliveries
  };
  std::vector<Reach> reached;  // in the order of the requests
};
/// Leases the deliveries that the requests ask for, up to the limit of each request and to bytes_per_claim
/// (claim.hpp). Waits for no lock. Throws Refused when the database refuses the content of a row; then
/// nothing is leased.
EarlyClaim claim_early(Session& session, const std::vector<EarlyRequest>& requests, const Lease& lease);

struct ProbeClaim {
  Leased leased;
  /// Webhooks left as they were, because only a newer release knows the events of the deliveries read.
  std::vector<WebhookId> left;
};
/// Leases one delivery of each webhook as a probe. It looks at the oldest deliveries that wait for a retry,
/// leaves out those that still wait for the end of a Retry-After, and takes the one that has gone longest
/// without an attempt. A webhook with deliveries that wait for a retry gets its next probe after
/// `interval`, even if no delivery can be leased now; a webhook without such deliveries gets no more probes.
/// Another dispatcher that calls this at the same time gets none of the same webhooks. Throws Refused when
/// the database refuses the content of a row; then nothing is changed.
ProbeClaim claim_probes(Session& session, const std::vector<EarlyWebhook>& webhooks,
                        platform::Milliseconds interval, const Lease& lease);

}  // namespace store
