// Records the results of attempts in batches; a result without its lease changes nothing.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/delivery/result.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

using delivery::DeliveryResult;
using delivery::DeliveryState;

/// When a failing webhook is deactivated, and how often it is probed; 0: never.
struct FailurePolicy {
  platform::Milliseconds disable_after{};
  platform::Milliseconds probe_interval{};
};

using ResultKey = std::pair<DeliveryId, std::uint64_t>;  // a delivery and its lease

/// The outcome of recording a batch. The results in the first three sets changed nothing.
struct RecordSummary {
  std::set<ResultKey> stale{};   // the lease is lost
  std::set<ResultKey> locked{};  // another session has locked a row of the result
  std::set<ResultKey> waited{};  // as `locked`, but recording waited for the lock (MySQL): do not retry soon
  std::set<DeliveryId> held_again{};     // deliveries retenida again, for the same reason as before
  std::set<ResultKey> former_url{};      // deliveries due at once, because their webhook has another URL now
  std::vector<WebhookId> deactivated{};  // by a 410 or by disable_after
};

/// Records the results, if possible in one transaction. If another session has locked rows, leaves out the
/// results that need those rows, and may record the others in several transactions. MariaDB never waits for a
/// lock here. MySQL may wait for a lock that SKIP LOCKED does not skip (of a gap, or of a row being
/// inserted). Never throws LockTimeout. Takes at most 512 results; those of one webhook must be in the order
/// in which the attempts ended.
RecordSummary record_results(Session& session, const std::vector<DeliveryResult>& delivery_results,
                             const FailurePolicy& policy);

}  // namespace store
