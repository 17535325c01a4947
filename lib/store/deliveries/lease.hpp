// The lease of a delivery.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The exclusive right to a delivery for a limited time. Each claim draws a random token, so that an expired
/// lease, even of the same process, changes nothing.
struct Lease {
  std::uint64_t token = 0;
  platform::Milliseconds duration{};  // by the database's clock, from the claim on
};

using delivery::LeasedDelivery;

/// Releases deliveries that were claimed but not started: they are pendiente again. They keep their due
/// times, except that one is due now if the database's clock has gone back to before its due time. Ignores
/// deliveries that have lost their lease. Returns the deliveries that it did not release because their rows
/// are locked. Does not wait for locks, except on MySQL for the lock of a gap between rows.
std::vector<LeasedDelivery> release_leases(Session& session, const std::vector<LeasedDelivery>& deliveries);

struct RecoveredLeases {
  std::uint64_t count = 0;
  std::string refusal;  // the last delivery that the database refuses to change, and why; empty: none
};
/// Makes at most `limit` deliveries with an expired lease pendiente again, at the same step of the schedule.
/// Leaves those in `unrecorded`: they have been attempted, and this process has yet to record their results.
RecoveredLeases recover_expired_leases(Session& session, unsigned limit,
                                       const std::set<DeliveryId>& unrecorded = {});

}  // namespace store
