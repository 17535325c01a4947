// Entities, webhooks and hosts that the operator has paused, and webhooks that have something to send but are
// delayed by a pause. Pure bookkeeping.
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class PausedParts {
 public:
  /// Takes the pauses read at `now`. If they have changed, returns the webhooks that put_off() noted, which
  /// may be due now.
  std::vector<delivery::WebhookId> update(std::vector<store::Pause> pauses, platform::MonotonicTime now);
  bool any() const { return !pauses_.empty(); }

  /// The time until something may be sent to this webhook at `url`; 0: at once.
  platform::Milliseconds time_left(delivery::EntityId entity, delivery::WebhookId webhook,
                                   std::string_view url, platform::MonotonicTime now) const;
  /// True: the pauses have changed since the last call and some remain, so a request that waits in the sender
  /// may be paused.
  bool take_added() { return std::exchange(added_, false); }
  /// Notes that a pause delays something of the webhook.
  void put_off(delivery::WebhookId webhook) { put_off_.insert(webhook); }

 private:
  std::vector<store::Pause> pauses_;
  platform::MonotonicTime read_at_{};
  std::set<delivery::WebhookId> put_off_;
  bool added_ = false;
};

}  // namespace dispatcher
