// Ends deliveries that are held for too long: a webhook that stays inactive would collect deliveries for
// ever.
#pragma once

#include <cstdint>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk over the webhooks with held deliveries; without any it costs one seek. Start with a default one and
/// call give_up_held until it is done.
struct HeldWalk {
  WebhookId after = 0;  // the last finished webhook
  bool done = false;
  std::uint64_t failed = 0;  // number of deliveries so far
};

/// Takes one step of the walk: a batch of one webhook's deliveries that fell due longer than `longest` ago
/// (retention.held) becomes fallida (entregada after a 2xx). They can be replayed. Skips locked deliveries.
void give_up_held(Session& session, platform::Milliseconds longest, HeldWalk& walk);

}  // namespace store
