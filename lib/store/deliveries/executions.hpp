// The last execution of each webhook and its streak of failures, written with the results of a batch, and
// what a streak leads to (docs/delivery.md#a-webhook-that-keeps-failing).
#pragma once

#include <vector>

#include "lib/store/deliveries/result_locks.hpp"

namespace store {

/// What the failures of a webhook lead to; 0: never.
struct FailurePolicy {
  platform::Milliseconds disable_after{};
  platform::Milliseconds probe_interval{};
};

/// Within the transaction that records `batch`, which is in the order in which the attempts ended. The
/// webhooks that it deactivated: answered 410 by their receiver, or failing for longer than
/// `policy.disable_after`.
std::vector<WebhookId> record_executions(Session& session, const ResultBatch& batch,
                                         const FailurePolicy& policy);

}  // namespace store
