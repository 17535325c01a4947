// Records the results of attempts in batches, guarded by the lease.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/delivery/result.hpp"
#include "lib/store/deliveries/executions.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

using delivery::DeliveryResult;
using delivery::DeliveryState;

using ResultKey = std::pair<DeliveryId, std::uint64_t>;  // a delivery and its lease

/// The outcome of recording a batch. The results in the first three sets changed nothing.
struct RecordSummary {
  std::set<ResultKey> stale{};           // without their lease
  std::set<ResultKey> held{};            // another session has locked one of their rows; found without a wait
  std::set<ResultKey> waited{};          // the same, but found by waiting: do not retry soon
  std::set<DeliveryId> held_again{};     // retenida again, for the reason for which they were held before
  std::set<ResultKey> former_url{};      // due at once, because their webhook has another URL now
  std::vector<WebhookId> deactivated{};  // by 410 or by disable_after
};

/// Records the results, except those with a row locked by another session: in one transaction, or in several
/// if some are locked. Does not wait for locks, and never throws LockTimeout. Takes at most 512 results;
/// those of one webhook must be in the order in which the attempts ended.
RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             const FailurePolicy& policy);

}  // namespace store
