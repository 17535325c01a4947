// Brings deliveries that wait for a retry forward (docs/delivery.md#recovery-and-probes): makes them due
// before their time, for an attempt that does not count for the schedule. `prevista` keeps the time that the
// schedule gave them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct ForwardLimits {
  unsigned most_due = 1;                    // deliveries of a recovered webhook brought forward and untried
  platform::Milliseconds probe_interval{};  // of a failing webhook; 0: no probes
};

/// What this process knows of a webhook.
struct Forwarded {
  UtcTime since{};                // webhook_ejecuciones.adelantar_en
  std::vector<DeliveryId> due{};  // brought forward; perhaps tried by now
  DeliveryId after = 0;           // the next search begins after this delivery
  platform::Milliseconds wait{};  // the last one, after a visit that made nothing due
  platform::MonotonicTime not_before{};
};

/// A walk over the webhooks that get attempts ahead of their schedule: those that have recovered, and failing
/// ones with a probe due.
struct ForwardWalk {
  UtcTime since{};  // the walk goes on after these two
  WebhookId after = 0;
  std::uint64_t webhooks = 0;    // visited so far
  std::vector<WebhookId> due{};  // webhooks with deliveries that became due
  /// Known from the walk before. Without it, more than ForwardLimits::most_due may become due.
  std::map<WebhookId, Forwarded> before{};
  std::map<WebhookId, Forwarded> known{};  // of the webhooks visited so far
  std::string refusal{};                   // the last row that the database refused to change, and why
  bool done = false;
};

/// Takes one step of the walk. Of a recovered webhook it makes the oldest deliveries due that wait for a
/// retry and were not yet brought forward at this step of their schedule; of a failing one the delivery that
/// has gone longest without an attempt (of the 100 oldest that were brought forward before, and the 100
/// oldest others). No delivery becomes due before the end of its Retry-After, and none of a webhook that may
/// not receive or that rests. Later walks visit a recovered webhook again until all its deliveries are
/// brought forward, less often while none can be. On MariaDB it waits for no lock. After a kill at any point,
/// the next walk continues.
void bring_forward(Session& session, const ForwardLimits& limits, ForwardWalk& walk);

/// The walk after one that has ended.
inline ForwardWalk next_forward_walk(ForwardWalk ended) { return {.before = std::move(ended.known)}; }

}  // namespace store
