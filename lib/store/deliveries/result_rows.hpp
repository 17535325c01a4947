// What a result changes of its delivery, and the evidence of its attempt: the statements. Each within the
// transaction that records the batch (results.hpp).
#pragma once

#include <cstdint>
#include <set>

#include "lib/store/deliveries/result_locks.hpp"

namespace store {

/// An attempt was made, and counts.
bool was_attempted(const delivery::DeliveryResult& result);
bool is_delivered(const delivery::DeliveryResult& result);

/// Ends the leases. How many were still under theirs: of the others nothing is changed. `batch`: by id, so
/// that all sessions lock in the same order.
std::uint64_t update_deliveries(Session& session, const ResultBatch& batch);

/// Adds an attempt for each that made one. Of probes that fail in a row the first and the last are kept.
void insert_attempts(Session& session, const ResultBatch& batch);

/// Those of `batch` that become `retenida` for the reason for which they were so before they were released
/// for a try.
std::set<DeliveryId> find_held_again(Session& session, const ResultBatch& batch);

}  // namespace store
