// What has been held for too long: a webhook that is never enabled again would gather deliveries for ever.
#pragma once

#include <cstdint>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A walk over the webhooks that have something held: with nothing it costs one seek. Begin with a default
/// one, until it is done.
struct HeldWalk {
  WebhookId after = 0;  // the last webhook that it is done with
  bool done = false;
  std::uint64_t failed = 0;  // deliveries, so far
};

/// One step of the walk: of one webhook, a batch of what would have been due longer than `longest` ago
/// becomes fallida, and can be replayed like any other (retention.held). Deliveries that somebody holds are
/// skipped: maintenance waits for nobody.
void give_up_held(Session& session, platform::Milliseconds longest, HeldWalk& walk);

}  // namespace store
