// A delivery in the hands of a dispatcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Who holds a delivery and for how long: guards every later change of it. The token is drawn at random for
/// each claim, so that a stale owner, even this same process, changes nothing.
struct Lease {
  std::uint64_t token = 0;
  platform::Milliseconds duration{};  // on the database's clock, from the claim
};

using delivery::LeasedDelivery;

/// Gives back what was claimed and not started: due again at once. Those that are no longer under the lease
/// stay as they are. Waits for nobody: those whose row somebody holds are returned, still to be given back.
std::vector<LeasedDelivery> release_leases(Session& session, const std::vector<LeasedDelivery>& deliveries);

/// Leases whose owner let them expire: pendiente again, the schedule where it was. At most `limit`; how many.
std::uint64_t recover_expired_leases(Session& session, unsigned limit);

}  // namespace store
