// Claims due deliveries by webhook. The caller leaves out busy and resting webhooks.
#pragma once

#include <optional>
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
  bool probing;                        // it has one slot
  platform::Milliseconds rest;         // how long it still rests: 0 or more
  std::optional<UtcTime> early_since;  // start of attempts ahead of its schedule (claim_early.hpp)
  bool failing;                        // its last attempt failed
};
/// Returns those of `webhooks` that may receive, by id.
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
    unsigned found = 0;       // equal to the limit: there may be more
    DuePosition last{};       // the next claim may begin after this
    bool skipped = false;     // its row is locked, or it may not receive: nothing was leased
    unsigned unreadable = 0;  // left pending, because this version does not know their event
  };
  std::vector<Reach> reached;
};
/// The limit of the data of all deliveries of a claim; a single delivery may exceed it.
inline constexpr std::uint64_t bytes_per_claim = std::uint64_t{2} * 1024 * 1024;
/// Leases the oldest due deliveries of each webhook, up to its limit and to bytes_per_claim, in one
/// transaction. Waits for no lock. Leases nothing of a webhook that is deleted or disabled, and cancels the
/// deliveries of cancelled notifications. Throws Refused when the database refuses the content of a row; then
/// nothing is leased.
Claim claim(Session& session, const std::vector<ClaimRequest>& requests, const Lease& lease);

}  // namespace store
