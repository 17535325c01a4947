// Writes the last execution and the failure streak of each webhook that has results in a batch.
#pragma once

#include <map>
#include <vector>

#include "lib/delivery/executions.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Locks the executions of these webhooks, in this order, and makes those that are missing. Requires a
/// transaction. Does not wait on MariaDB (without_waiting).
std::map<WebhookId, delivery::Execution> lock_executions(Session& session,
                                                         const std::vector<WebhookId>& webhooks);

/// Runs within the transaction that records `results`. `probe_interval`: of delivery::after(). Locks the rows
/// in the order of the ids. Does not wait on MariaDB.
void record_executions(Session& session, const std::map<WebhookId, delivery::WebhookResults>& results,
                       platform::Milliseconds probe_interval);

/// Writes the end of each receiver's certificate that a handshake of the batch showed, where it is another
/// than before. Runs after record_executions, in its transaction, and so waits for no lock.
void record_certificates(Session& session, const std::vector<const delivery::DeliveryResult*>& batch);

}  // namespace store
