// How long something waits before it is tried again.
#pragma once

#include <chrono>

namespace dispatcher {

/// After another session's lock was met.
inline constexpr std::chrono::milliseconds locked_wait{50};
/// After a webhook had no free slot.
inline constexpr std::chrono::milliseconds no_slot_wait{50};

/// For a webhook with deliveries that the database refuses to lease.
inline constexpr std::chrono::seconds refused_wait{5};

}  // namespace dispatcher
