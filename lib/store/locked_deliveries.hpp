// Locks deliveries and changes them without waiting for other sessions.
#pragma once

#include <string_view>
#include <vector>

#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Locks, in the open transaction, those of the deliveries that no other session has locked. `if_free` is the
/// end of the locking statement: further conditions, and FOR UPDATE SKIP LOCKED. Find the ids by an index
/// without a lock: while a backup has a snapshot, the database keeps the index entries that earlier batches
/// removed, and a locking read of the index would lock those entries too. For a million entries that takes a
/// second or more in each batch.
inline std::vector<DeliveryId> lock_free_deliveries(Session& session, const Keys& ids,
                                                    std::string_view if_free) {
  if (ids.begin() == ids.end()) return {};
  return ids_in<DeliveryId>(
      query_ids(session, "SELECT id FROM entregas FORCE INDEX (PRIMARY) WHERE id IN", ids, if_free));
}

/// The begin of a statement that changes the deliveries of json_ids(): assignments to `e` follow. The
/// deliveries are locked already, but the change can meet another lock that SKIP LOCKED does not see, such as
/// one on a gap of an index: it does not wait for that.
inline constexpr std::string_view change_deliveries = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id SET )sql";
inline constexpr std::string_view change_locked_deliveries = without_waiting<change_deliveries>;

}  // namespace store
