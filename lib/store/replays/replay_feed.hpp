// How the dispatcher carries replays out: it hands their deliveries to the schedule, oldest first, as many at
// a time as half of the webhook's slots, and the next ones once those have been tried. From then on they are
// deliveries like any other, behind those that fell due before (docs/delivery.md#replays).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// One that the database or its reader refuses: it is cancelled.
struct UnreadableReplay {
  std::int64_t id;
  std::string error;
};

/// A walk over the webhooks with a replay that is not over.
struct ReplayWalk {
  WebhookId after = 0;
  std::uint64_t webhooks = 0;
  std::uint64_t replayed = 0;  // deliveries
  std::uint64_t finished = 0;  // replays
  std::vector<UnreadableReplay> unreadable;
  bool done = false;
};

/// For the next webhook: what has room of its first replay, single deliveries before ranges. At most
/// `most_untried` of a webhook are due and not yet tried; while it fails, one alone, and none of a range as
/// long as anything else of it waits for a retry; none while it rests or receives nothing, nor while a
/// hundred that were replayed wait for a retry. Waits for no lock; killed on any line, another one goes on
/// where it was.
void feed_replays(Session& session, unsigned most_untried, ReplayWalk& walk);

/// Forgets one replay that has been over for so long, or a batch of its deliveries; false: there is none.
bool forget_old_replay(Session& session, platform::Milliseconds kept);

}  // namespace store
