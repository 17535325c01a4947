// Claims due deliveries by webhook. The caller leaves out webhooks without a free slot and webhooks that
// rest.
#pragma once

#include <vector>

#include "lib/store/deliveries/lease.hpp"
#include "lib/store/deliveries/lease_candidates.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/target.hpp"

namespace store {

/// A webhook that may receive: active, not deleted, and its entity active.
struct ReceivingWebhook {
  Target target;
  EntityId entity;
  bool one_at_a_time;           // the last attempt failed in transport or with 429 or 503: one slot only
  platform::Milliseconds rest;  // for how long the webhook still rests; 0: it does not rest
  bool failing;                 // the last attempt failed
};
/// Returns those of `webhooks` that may receive, sorted by id.
std::vector<ReceivingWebhook> load_receiving(Session& session, const std::vector<WebhookId>& webhooks);

/// A position in the order in which a webhook's deliveries fall due.
struct DuePosition {
  UtcTime due{};  // by the database's clock
  DeliveryId id = 0;
  auto operator<=>(const DuePosition&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};

struct ClaimRequest {
  WebhookId webhook;
  unsigned limit;  // 1 or more
  /// Reads only deliveries after this position: while a backup holds a snapshot open, the index keeps the
  /// entries of claimed deliveries, and reading past them takes time. By default reads from the start.
  DuePosition after{};
};
struct Claim {
  Leased leased;
  /// How far each webhook was read, in the order of the requests.
  struct Reach {
    WebhookId webhook;
    unsigned found = 0;  // how many due deliveries were read; the request's limit if more may be due
    DuePosition last{};  // the next claim may begin after this
    /// True: nothing was leased, because the webhook may not receive, or its row or its entity's is locked.
    bool skipped = false;
    unsigned unreadable = 0;  // deliveries left pending, because this release cannot read their notification
  };
  std::vector<Reach> reached;
};
/// The most bytes of data that the deliveries of one claim may have in all; a single delivery may have more.
inline constexpr std::uint64_t bytes_per_claim = std::uint64_t{2} * 1024 * 1024;
/// Leases the oldest due deliveries of each webhook, up to the request's limit and to bytes_per_claim, in one
/// transaction. Waits for no lock. Leases nothing of a webhook that may not receive. Cancels deliveries of
/// cancelled or expired notifications, and those with a notification of another entity than the webhook's
/// (Leased::foreign). Throws Refused when the database refuses the content of a row; then nothing is leased.
Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease);

}  // namespace store
