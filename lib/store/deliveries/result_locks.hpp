// Locks the rows that a result changes, before anything is written: by primary key, in the order of the ids,
// without waiting. In a cluster a lock covers one node only, so the updates of result_rows.cpp also
// require the lease, and the transaction is rolled back if they change fewer rows than there are results.
#pragma once

#include <vector>

#include "lib/delivery/result.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

using ResultBatch = std::vector<const delivery::DeliveryResult*>;

/// A batch, divided by what can happen to its results now. Each part keeps the order of the batch.
struct LockedResults {
  ResultBatch owned;      // with a valid lease, and all rows locked by this session
  ResultBatch stale;      // the lease is lost
  ResultBatch locked;     // another session has locked a row of the result
  ResultBatch unwritten;  // the webhook's row in webhook_ejecuciones is locked by another session, or absent
};

/// Divides the batch, and locks the rows of the owned results. Requires a transaction. `absent`: the webhooks
/// of `batch` are known to have no row in webhook_ejecuciones, so that no result becomes unwritten.
LockedResults lock_results(Session& session, const ResultBatch& batch, bool absent);

/// Selects from `batch`, which has at most 512 results, the results of webhooks without a row in
/// webhook_ejecuciones, not even an uncommitted one. Must not run in a transaction.
ResultBatch without_execution(Session& session, const ResultBatch& batch);

}  // namespace store
