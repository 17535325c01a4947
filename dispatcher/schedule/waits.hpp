// How long those wait that cannot have what they need now.
#pragma once

#include <chrono>

namespace dispatcher {

/// Before a row that another session has locked is tried again.
inline constexpr std::chrono::milliseconds locked_wait{50};
/// Before a webhook without a free slot is looked at again.
inline constexpr std::chrono::milliseconds no_slot_wait{50};

}  // namespace dispatcher
