// Locks a batch of deliveries, in the order of an index. Reads them without a lock, and then locks them by
// key: a locking read of the index would also lock the entries of earlier batches that a backup's snapshot
// keeps. For a million entries that takes a second or more in each batch.
#pragma once

#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/types.hpp"

namespace store {

struct LockedBatch {
  std::vector<DeliveryId> ids;
  bool full = true;  // there may be more
};

/// Reads the first batch_rows deliveries and locks, in the open transaction, those that no other session has
/// locked. If it locks none, goes on with the next batch_rows. `read` returns the rows (`id`, `vence`) after
/// a time and an id, at most batch_rows; `if_free` is the end of the statement that locks some of them.
template <class Read>
LockedBatch lock_batch(Session& session, Read&& read, std::string_view if_free) {
  LockedBatch batch;
  platform::UtcTime due{};
  DeliveryId last = 0;
  while (batch.full && batch.ids.empty()) {
    const Rows rows = read(due, last);
    batch.full = rows.size() == batch_rows;
    if (rows.empty()) break;
    std::vector<DeliveryId> found;
    for (const auto& row : rows) found.push_back(row.integer("id"));
    due = rows.back().time("vence");
    last = found.back();
    for (const auto& row :
         query_ids(session, "SELECT id FROM entregas FORCE INDEX (PRIMARY) WHERE id IN", found, if_free))
      batch.ids.push_back(row.integer("id"));
  }
  return batch;
}

}  // namespace store
