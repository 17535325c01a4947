// Claiming what is due, by webhook: the backlog of a busy or resting one is never scanned.
#pragma once

#include <optional>
#include <vector>

#include "lib/store/deliveries/lease.hpp"
#include "lib/store/deliveries/lease_candidates.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/target.hpp"

namespace store {

/// A webhook that may receive: active, not deleted, of an active entity.
struct ReceivingWebhook {
  Target target;
  EntityId entity;
  bool probing;                        // one in flight only
  platform::Milliseconds rest;         // before anything of it may be claimed: 0 or more
  std::optional<UtcTime> early_since;  // something of it may be tried ahead of its schedule (claim_early.hpp)
  bool failing;                        // its last attempt failed
};
/// Those of `webhooks` that may receive, by id.
std::vector<ReceivingWebhook> load_receiving(Session& session, const std::vector<WebhookId>& webhooks);

/// A place in the order in which a webhook's deliveries fall due.
struct DuePosition {
  UtcTime due{};  // by the database's clock
  DeliveryId id = 0;
  auto operator<=>(const DuePosition&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};

struct ClaimRequest {
  WebhookId webhook;
  unsigned limit;  // 1 or more
  /// Only what comes after it is looked at: an index keeps the entries of what has been claimed for as long
  /// as a backup holds a snapshot open, and to walk past them takes time. The default looks at all.
  DuePosition after{};
};
struct Claim {
  Leased leased;
  /// How far each webhook was looked at, in the order of the requests.
  struct Reach {
    WebhookId webhook;
    unsigned found = 0;       // as many as the limit: there may be more
    DuePosition last{};       // of the last one that need not be looked at again
    bool skipped = false;     // somebody holds its row, or it may no longer receive: nothing was leased
    unsigned unreadable = 0;  // left pending: their event is one that this version does not know
  };
  std::vector<Reach> reached;
};
/// Of the data of all deliveries of a claim; a single one may have more.
inline constexpr std::uint64_t bytes_per_claim = std::uint64_t{2} * 1024 * 1024;
/// Leases the oldest due deliveries of each webhook, up to its limit and as far as bytes_per_claim goes, in
/// one transaction; waits for no lock. A webhook deleted or disabled meanwhile yields nothing; the delivery
/// of a cancelled notification is cancelled instead. Throws Refused when the database refuses one of the rows
/// for its content: nothing of the batch was leased.
Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease);

}  // namespace store
