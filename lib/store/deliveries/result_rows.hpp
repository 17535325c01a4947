// The statements that change a delivery and add the evidence of its attempt, within the transaction that
// records the batch (results.hpp).
#pragma once

#include <cstdint>
#include <set>

#include "lib/store/deliveries/result_locks.hpp"

namespace store {

/// Writes the new states and ends the leases. Returns how many deliveries still had their lease; does not
/// change the others. `batch` must be in the order of the ids, so that all sessions lock in the same order.
std::uint64_t update_deliveries(Session& session, const ResultBatch& batch);

/// Adds a row for each result with an attempt. Keeps only the first and the last of consecutive failed
/// probes.
void insert_attempts(Session& session, const ResultBatch& batch);

/// Returns the deliveries of `batch` that are held for the same reason as before.
std::set<DeliveryId> find_held_again(Session& session, const ResultBatch& batch);

}  // namespace store
