// The rows that recording a result writes, locked before anything is written: by primary key, in the order of
// the ids, and waiting for nobody. A lock is only as wide as one node of a cluster; the guarded updates of
// results.cpp and the rows that they count are what the promises rest on.
#pragma once

#include <vector>

#include "lib/delivery/result.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

using ResultBatch = std::vector<const delivery::DeliveryResult*>;

/// A batch, by what may become of it now. Each keeps the order of the batch.
struct LockedResults {
  ResultBatch owned;  // under their lease, all their rows locked
  ResultBatch stale;  // no longer under their lease
  ResultBatch held;   // somebody else holds a row of them
  ResultBatch
      unwritten;  // no row of their webhook in webhook_ejecuciones could be locked: it is held, or absent
};

/// Within a transaction. `absent`: webhooks without a row in webhook_ejecuciones are known to have none, so
/// that their results are owned, stale or held, too.
LockedResults lock_results(Session& session, const ResultBatch& batch, bool absent);

/// Of `batch` (at most 512), those whose webhooks have no row in webhook_ejecuciones, not even one that
/// somebody has inserted and not committed. Outside of a transaction.
ResultBatch without_execution(Session& session, const ResultBatch& batch);

/// Within a transaction: the rows of these webhooks that nobody else holds, locked.
std::vector<WebhookId> lock_webhooks(Session& session, const std::vector<WebhookId>& webhooks);

}  // namespace store
