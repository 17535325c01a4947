// Carries out replays for the dispatcher (docs/delivery.md#replays): makes their deliveries due, oldest
// first, a few at a time, and further ones when those have been tried. A replayed delivery comes after those
// that fell due before it, like any other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// A replay that is cancelled, because the database refuses its rows or the program cannot read them.
struct UnreadableReplay {
  ReplayId id;
  std::string error;
};

/// A walk over the webhooks with unfinished replays.
struct ReplayWalk {
  WebhookId after = 0;         // the last visited webhook
  std::uint64_t webhooks = 0;  // visited so far
  std::uint64_t replayed = 0;  // deliveries
  std::uint64_t finished = 0;  // replays
  std::vector<UnreadableReplay> unreadable;
  std::string refusal;  // the last row that the database refused to change (the others were changed), and why
  bool done = false;
};

/// Takes one step of the walk: goes to the next webhook and makes deliveries of its first replay due. A
/// replay that was asked for one delivery comes before a replay of a range of deliveries.
///
/// At most `most_untried` replayed deliveries of a webhook are due and untried at a time, and at most one
/// while the webhook fails. Makes none due while the webhook rests, while it or its entity is inactive, or
/// while 100 of its replayed deliveries wait for a retry. A replay of a range also stops while the webhook
/// fails and any of its deliveries waits for a retry.
///
/// If the database refuses to change a delivery of a range, leaves that delivery out. Waits for no lock.
/// After a kill at any point, the next call continues.
void feed_replays(Session& session, unsigned most_untried, ReplayWalk& walk);

/// Deletes a batch of rows of reenvios_entregas of one replay that ended longer than `kept` ago, and the
/// replay with its last batch. Returns false when there is no such replay. Skips locked replays.
bool forget_old_replay(Session& session, platform::Milliseconds kept);

}  // namespace store
