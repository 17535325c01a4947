// The database's clock, where it cannot be believed. When it goes back: what the clock that was ahead has
// scheduled would wait for as long as it was ahead. When it goes forward what came due is due, as after a
// suspended machine; but what retention would remove, and a deactivation, could not be undone: that waits
// until the clock is right again or the operator accepts it (docs/delivery.md#clocks).
//
// Everything here can be repeated, and done by several dispatchers at once: being killed half-way loses
// nothing, because the time that betrays the jump is only written over at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/platform/config.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// By how much the nodes of a cluster may differ without it being taken for a jump.
inline constexpr platform::Milliseconds clock_tolerance{10000};

/// A reading of it beside our own clock: how a dispatcher knows by how much it should have advanced.
struct ClockSight {
  UtcTime time{};
  platform::MonotonicTime at{};
  std::int64_t accepted = 0;  // jumps, so far
};

struct ClockLook {
  platform::Milliseconds behind;  // zero, or by how much it has gone back: more than clock_tolerance
  platform::Milliseconds jumped;  // zero, or by how much it has gone forward, and nobody accepted it
};
/// Notes the database's time, unless it has gone back. `first` is the dispatcher's first reading, empty
/// before it: a clock that gains more than an hour on ours since then has jumped; so it has when no
/// dispatcher has seen it for three days.
ClockLook watch_clock(Session& session, std::optional<ClockSight>& first, platform::MonotonicTime now);

/// The clock is right as it is now. By how much it had jumped; 0: it was believed.
platform::Milliseconds accept_clock(Session& session);

/// The longest that a delivery pending after `failures` failures that count may still have to wait: zero when
/// it has none. What a receiver asked for with Retry-After is not in it: after a jump it is asked again, and
/// says it again.
platform::Milliseconds longest_wait(const platform::DeliverySettings& settings, unsigned failures);

/// How far the mending has got: begin with a default one, and call mend_clock until it is done.
struct ClockMending {
  enum class Stage { leases, rests, deliveries, done };
  Stage stage = Stage::leases;
  WebhookId webhook = 0;  // of `deliveries`: where it is
  UtcTime due{};          // and how far into what waits of it
  DeliveryId delivery = 0;
  std::uint64_t leases = 0, rests = 0, rescheduled = 0;  // shortened so far
};
/// One batch: leases that end later than a new one would, rests longer than that of a 429 without
/// Retry-After, and deliveries that wait for longer than longest_wait, are cut down to that; the deliveries
/// at random within it, so that they do not come due together. Rows that somebody holds are skipped: they are
/// being changed anyhow.
void mend_clock(Session& session, const platform::DeliverySettings& settings, ClockMending& mending);

}  // namespace store
