// Detects jumps of the database's clock (docs/delivery.md#clocks). After a jump back, everything scheduled
// before the jump would wait longer by the jump, so the waits are shortened. After a jump forward, what is
// due is sent. Purges and deactivations could not be undone, so they wait until the clock is right or the
// operator accepts the clock.
//
// Several dispatchers may shorten the waits at the same time. Dispatchers note the clock's time in the
// database, and a clock that is behind the noted time has jumped back. After such a jump the noted time is
// overwritten only when the waits are shortened. So if a dispatcher is killed before that, the jump is still
// seen later, and the waits are shortened then.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/platform/config/config.hpp"
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
  platform::Milliseconds jumped;  // how far the clock jumped forward, until the jump is accepted; else zero
};
/// Reads the database's clock, and notes its time (every 10 s) unless the clock went back. `first` is the
/// dispatcher's first reading; watch_clock sets it. The clock has jumped forward when it has gained more than
/// an hour on ours since that reading; or, at the first reading, when it is more than three days past the
/// last note of any dispatcher and there are notifications.
ClockLook watch_clock(Session& session, std::optional<ClockSight>& first, platform::MonotonicTime now);

/// How long ago a dispatcher last noted the clock's time; zero while the clock is behind that.
platform::Milliseconds since_last_note(Session& session);

/// Accepts the clock as it is now. Returns how far the clock had jumped; 0 when it had not.
platform::Milliseconds accept_clock(Session& session);

/// The longest wait of a delivery that is pending after `failures` counted failures; zero without failures.
/// Ignores Retry-After: after a jump the receiver is asked again, and may repeat its Retry-After.
platform::Milliseconds longest_wait(const platform::DeliverySettings& settings, unsigned failures);

/// The progress of mend_clock: start with a default ClockMending, and call mend_clock until `stage` is done.
struct ClockMending {
  enum class Stage { leases, rests, deliveries, done };
  Stage stage = Stage::leases;
  WebhookId webhook = 0;                                 // in stage `deliveries`: the present webhook
  UtcTime due{};                                         // the position in that webhook's pending deliveries
  DeliveryId delivery = 0;                               // the id of the delivery at `due`
  std::uint64_t leases = 0, rests = 0, rescheduled = 0;  // rows changed so far
};
/// Takes one step of the present stage: shortens a batch of times that are too far ahead. A lease is
/// shortened to delivery.lease, a rest to the first wait of the retry schedule, the wait for a probe to
/// delivery.probe_interval. Times of a streak or an outage that lie in the future become the present time. A
/// delivery's wait beyond longest_wait becomes a random one below it, so that the deliveries do not all fall
/// due together. Skips locked rows.
void mend_clock(Session& session, const platform::DeliverySettings& settings, ClockMending& mending);

}  // namespace store
