// Detects jumps of the database's clock (docs/delivery.md#clocks). After a jump back, what was scheduled
// before would wait longer by the jump, so these waits are shortened. After a jump forward, what is due is
// sent, as after a suspension; but purges and deactivations could not be undone, so they wait until the clock
// is right or the operator accepts it.
//
// Several dispatchers may do this at the same time, and repeat it: a kill loses nothing, because the time
// that shows the jump is overwritten last.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/platform/config/config.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The difference between nodes of a cluster that does not count as a jump.
inline constexpr platform::Milliseconds clock_tolerance{10000};

/// A reading of the database's clock and of ours, to know how far the database's should advance.
struct ClockSight {
  UtcTime time{};
  platform::MonotonicTime at{};
  std::int64_t accepted = 0;  // number of accepted jumps so far
};

struct ClockLook {
  platform::Milliseconds behind;  // how far the clock went back, if more than clock_tolerance; else zero
  platform::Milliseconds jumped;  // how far it jumped forward without acceptance; else zero
};
/// Notes the database's time, unless it went back. `first` is the dispatcher's first reading, empty before
/// it. A clock that has gained more than an hour on ours since then has jumped. So has, at the first reading,
/// one more than three days after the last note of any dispatcher, if there are notifications.
ClockLook watch_clock(Session& session, std::optional<ClockSight>& first, platform::MonotonicTime now);

/// Accepts the clock as it is now. Returns how far it had jumped; 0 when it had not.
platform::Milliseconds accept_clock(Session& session);

/// The longest wait of a delivery that is pending after `failures` counted failures; zero without failures.
/// Ignores Retry-After: after a jump the receiver is asked again, and repeats it.
platform::Milliseconds longest_wait(const platform::DeliverySettings& settings, unsigned failures);

/// The progress of mend_clock: start with a default one, and call mend_clock until it is done.
struct ClockMending {
  enum class Stage { leases, rests, deliveries, done };
  Stage stage = Stage::leases;
  WebhookId webhook = 0;  // in stage `deliveries`: the present webhook
  UtcTime due{};          // and the position in its pending deliveries
  DeliveryId delivery = 0;
  std::uint64_t leases = 0, rests = 0, rescheduled = 0;  // numbers shortened so far
};
/// Shortens one batch: leases that end later than a new one, rests longer than that of a 429 without
/// Retry-After (with the times of probes and streaks), and waits longer than longest_wait, each to that
/// bound; waits become random below it, so that they do not fall due together. Skips locked rows.
void mend_clock(Session& session, const platform::DeliverySettings& settings, ClockMending& mending);

}  // namespace store
