// Recording what became of attempts, in batches, guarded by the lease.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "delivery/result.hpp"
#include "store/session/session.hpp"
#include "store/types.hpp"

namespace store {

using delivery::DeliveryResult;
using delivery::DeliveryState;

struct RecordSummary {
  /// By id and lease: no longer under their lease, so that nothing was changed.
  std::set<std::pair<DeliveryId, std::uint64_t>> stale;
  std::vector<WebhookId> deactivated;  // by 410 or by disable_after
};

/// One transaction. `disable_after` 0: never. Results of one webhook are given in the order in which
/// they ended.
RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             platform::Milliseconds disable_after);

/// Of the webhooks of `delivery_results` (at most 512), those of which no row that record_results() writes is
/// locked by somebody at this moment. Waits for nobody.
std::set<WebhookId> find_unlocked(Session& session, const std::vector<DeliveryResult>& delivery_results);

}  // namespace store
