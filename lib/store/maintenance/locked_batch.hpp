// Locks deliveries that were read by an index without a lock, by their primary key. The reason: while a
// backup has a snapshot, the database keeps the index entries that earlier batches removed, and a locking
// read of the index would lock those entries too. For a million entries that takes a second or more in each
// batch.
#pragma once

#include <string_view>
#include <vector>

#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Locks, in the open transaction, those of the `read` deliveries (rows with `id`) that no other session has
/// locked. `if_free` is the end of the locking statement: further conditions, and FOR UPDATE SKIP LOCKED.
inline std::vector<DeliveryId> lock_batch(Session& session, const Rows& read, std::string_view if_free) {
  if (read.empty()) return {};
  return ids_in<DeliveryId>(
      query_ids(session, "SELECT id FROM entregas FORCE INDEX (PRIMARY) WHERE id IN", ids_in(read), if_free));
}

}  // namespace store
