// Recording what became of attempts, in batches, guarded by the lease.
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

/// What there is to say of a batch. For those in the first three nothing was changed.
struct RecordSummary {
  std::set<ResultKey> stale{};   // no longer under their lease
  std::set<ResultKey> held{};    // somebody holds a row of them: nobody has waited
  std::set<ResultKey> waited{};  // the same, and it cost a wait to find that out: not to be tried again soon
  std::set<DeliveryId> held_again{};     // retenida, as they were before they were released for a try
  std::set<ResultKey> former_url{};      // due at once: they went to a URL that their webhook no longer has
  std::vector<WebhookId> deactivated{};  // by 410 or by disable_after
};

/// Records what nobody holds a row of; in one transaction, or in a few where somebody does. Waits for nobody,
/// and throws no LockTimeout. At most 512 results, those of one webhook in the order in which they ended.
RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             const FailurePolicy& policy);

}  // namespace store
