// Locks a batch of deliveries, in the order of an index. Reads the index without a lock, and then locks the
// deliveries by primary key. The reason: while a backup has a snapshot, the database keeps the index entries
// that earlier batches removed, and a locking read of the index would lock those entries too. For a million
// entries that takes a second or more in each batch.
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
/// locked. If it locks none, goes on with the next batch_rows. `read(due, last)` returns
/// the rows (`id`, `vence`) that follow this time and id in the index, at most batch_rows. `if_free` is the
/// end of the locking statement: further conditions, and FOR UPDATE SKIP LOCKED.
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
