// Detects jumps of the database's clock (docs/delivery.md#clocks). Purges and deactivations could not be
// undone, so after a jump of more than an hour they wait until the operator accepts the clock. After a jump
// back, leases are cut to their length at once. What else was scheduled before the jump waits longer by the
// jump, until the operator accepts the clock.
//
// Dispatchers note the clock's time in the database, and a clock that is behind the noted time has jumped
// back. The noted time is overwritten only when the leases are cut. So if a dispatcher is killed before that,
// the next look still sees the jump.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/config/config.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A shift of the clock by no more than this is no jump, because the clocks of a cluster's nodes differ.
inline constexpr platform::Milliseconds clock_tolerance{10000};

/// A reading of the database's clock, and of ours at that moment.
struct ClockSight {
  UtcTime time{};
  platform::MonotonicTime at{};
  std::int64_t accepted = 0;  // number of accepted jumps so far
};

struct ClockLook {
  platform::Milliseconds behind;  // how far the clock went back, if more than clock_tolerance; else zero
  platform::Milliseconds jumped;  // the jump that is not yet accepted; negative: the clock went back
};
/// Reads the database's clock, and notes its time (every 10 s). After a jump back, first cuts leases that are
/// longer than `lease`. `first` is the dispatcher's first reading; watch_clock sets it. The clock has jumped
/// forward when it has gained more than an hour on ours since that reading; or, at the first reading, when it
/// is more than three days past the last note of any dispatcher and there are notifications.
ClockLook watch_clock(Session& session, std::optional<ClockSight>& first, platform::MonotonicTime now,
                      platform::Milliseconds lease);

/// How long ago a dispatcher last noted the clock's time; zero while the clock is behind that.
platform::Milliseconds since_last_note(Session& session);

struct AcceptedClock {
  platform::Milliseconds jumped;  // as ClockLook::jumped, before
  std::uint64_t made_due = 0;     // deliveries
};
/// Accepts the clock as it is now. If it had gone back, first makes all that waits due, in batches: ends
/// rests, and sets times of a streak or an outage that lie in the future to the present time.
AcceptedClock accept_clock(Session& session);

}  // namespace store
