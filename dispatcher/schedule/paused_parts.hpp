// What the operator has paused beside the whole queue, and who was put off for it. What a call costs while
// nothing is paused is nothing. Pure bookkeeping.
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class PausedParts {
 public:
  /// As read at `now`. Those who were put off, when something has changed: they may be due.
  std::vector<delivery::WebhookId> update(std::vector<store::Pause> pauses, platform::MonotonicTime now);

  /// Before anything may be sent there; 0: at once.
  platform::Milliseconds left(delivery::EntityId entity, delivery::WebhookId webhook, std::string_view url,
                              platform::MonotonicTime now) const;
  /// Whether there is more since the last call: what waits to be started may be of it.
  bool take_added() { return std::exchange(added_, false); }
  void put_off(delivery::WebhookId webhook) { put_off_.insert(webhook); }

 private:
  std::vector<store::Pause> pauses_;
  platform::MonotonicTime read_at_{};
  std::set<delivery::WebhookId> put_off_;
  bool added_ = false;
};

}  // namespace dispatcher
