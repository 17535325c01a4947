// Limits the time of tasks that must not delay deliveries. Pure bookkeeping.
#pragma once

#include <algorithm>

#include "lib/platform/clock.hpp"

namespace dispatcher {

/// Keeps a task to a share of the time: after a run that took t, the next run is due (t / share - t) later.
/// The pause is at least `least`, and at most `most`, because a run may be slow for a reason that does not
/// last.
class Pacer {
 public:
  explicit Pacer(unsigned percent) : percent_(percent) {}

  bool due(platform::MonotonicTime now) const { return now >= next_; }
  platform::MonotonicTime next() const { return next_; }
  void ran(platform::MonotonicTime from, platform::MonotonicTime to, platform::Milliseconds least,
           platform::Milliseconds most) {
    next_ = to + std::clamp<platform::MonotonicTime::duration>((to - from) * (100 - percent_) / percent_,
                                                               least, std::max(least, most));
  }

 private:
  unsigned percent_;  // 1 to 100
  platform::MonotonicTime next_{};
};

}  // namespace dispatcher
