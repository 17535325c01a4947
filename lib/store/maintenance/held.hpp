// Ends deliveries that are held for too long: a webhook that stays inactive would collect deliveries for
// ever.
#pragma once

#include <cstdint>
#include <string>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk over the webhooks with held deliveries; if there are none, it costs one seek. Start with a default
/// HeldWalk, and call give_up_held until `done`.
struct HeldWalk {
  WebhookId after = 0;  // the last webhook that had its turn
  bool done = false;
  std::uint64_t ended = 0;  // deliveries ended so far
  std::string refusal;      // the last delivery that the database refused to end, and why
};

/// Takes one step of the walk: ends a batch of one webhook's held deliveries that fell due longer than
/// `longest` (retention.held) ago. They become fallida, and can be replayed; cancelada, if their notification
/// is called off or has expired; or entregada, if an earlier attempt got a 2xx. Skips locked deliveries, and
/// those that the database refuses to end. Each webhook has one turn in a walk, so further walks follow until
/// one ends none.
void give_up_held(Session& session, platform::Milliseconds longest, HeldWalk& walk);

}  // namespace store
