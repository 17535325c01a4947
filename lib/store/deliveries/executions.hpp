// Writes the last execution and the failure streak of each webhook that has results in a batch, and
// deactivates webhooks because of a 410 or their streak (docs/delivery.md#a-webhook-that-keeps-failing).
#pragma once

#include <vector>

#include "lib/store/deliveries/result_locks.hpp"

namespace store {

/// When a failing webhook is deactivated, and how often it is probed; 0: never.
struct FailurePolicy {
  platform::Milliseconds disable_after{};
  platform::Milliseconds probe_interval{};
};

/// Runs within the transaction that records `batch`, which must be in the order in which the attempts ended.
/// Returns the webhooks that it deactivated: those that answered 410, and those that have failed for longer
/// than `policy.disable_after`.
std::vector<WebhookId> record_executions(Session& session, const ResultBatch& batch,
                                         const FailurePolicy& policy);

}  // namespace store
