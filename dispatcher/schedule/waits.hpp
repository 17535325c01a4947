// How long a webhook or an entity waits before the dispatcher tries it again.
#pragma once

#include <chrono>

namespace dispatcher {

/// The wait after another session's lock was met.
inline constexpr std::chrono::milliseconds locked_wait{50};

/// The wait after the database refused to lease a webhook's deliveries, or this release could not read some.
inline constexpr std::chrono::seconds refused_wait{5};

/// A resting webhook is looked at again after this time at the latest.
inline constexpr std::chrono::seconds longest_rest{60};

}  // namespace dispatcher
