// Brings deliveries that wait for a retry forward (docs/delivery.md#recovery-and-probes): makes them due
// before their time, for an attempt that the claim does not count for the schedule. `prevista` keeps the time
// that the schedule gave them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct ForwardLimits {
  unsigned most_due = 1;                    // of a recovered webhook's deliveries at a time
  platform::Milliseconds probe_interval{};  // of a failing webhook; 0: no probes
};

/// A walk over the webhooks that get attempts ahead of their schedule: those that have recovered, and failing
/// ones with a probe due.
struct ForwardWalk {
  UtcTime since{};  // the walk goes on after these two
  WebhookId after = 0;
  std::uint64_t webhooks = 0;    // visited so far
  std::vector<WebhookId> due{};  // webhooks with deliveries brought forward
  std::string refusal{};         // the last row that the database refused to change, and why
  bool done = false;
};

/// Takes one step of the walk. Of a recovered webhook it makes the oldest deliveries due that wait for a
/// retry and were not yet brought forward at this step of their schedule, until `most_due` are due; of a
/// failing one the delivery that has gone longest without an attempt, if none is due. No delivery becomes due
/// before the end of its Retry-After, and none of a webhook that may not receive or that rests. A walk visits
/// a webhook again until all its deliveries are brought forward. Waits for no lock. After a kill at any
/// point, the next walk continues.
void bring_forward(Session& session, const ForwardLimits& limits, ForwardWalk& walk);

}  // namespace store
