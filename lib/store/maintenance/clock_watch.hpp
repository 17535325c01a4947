// When the database's clock goes back: what the clock that was ahead has scheduled would wait for as long as
// it was ahead. (When it goes forward there is nothing to mend: what came due is due, as after a suspended
// machine.)
//
// Everything here can be repeated, and done by several dispatchers at once: being killed half-way loses
// nothing, because the time that betrays the jump is only written over at the end.
#pragma once

#include <cstdint>

#include "platform/config.hpp"
#include "store/session/session.hpp"
#include "store/types.hpp"

namespace store {

/// By how much the nodes of a cluster may differ without it being taken for a jump.
inline constexpr platform::Milliseconds clock_tolerance{10000};

/// Notes the database's time, unless it has gone back. Zero, or by how much it has: more than
/// clock_tolerance.
platform::Milliseconds watch_clock(Session& session);

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
