// Duties that must never crowd out deliveries. Pure bookkeeping.
#pragma once

#include <algorithm>

#include "platform/clock.hpp"

namespace dispatcher {

/// Keeps a duty to a share of the time, whatever it costs: after a run of t its next is due t / share later,
/// and no sooner than `least`.
class Pacer {
 public:
  explicit Pacer(unsigned percent) : percent_(percent) {}

  bool due(platform::MonotonicTime now) const { return now >= next_; }
  platform::MonotonicTime next() const { return next_; }
  void ran(platform::MonotonicTime from, platform::MonotonicTime to, platform::Milliseconds least) {
    next_ =
        to + std::max<platform::MonotonicTime::duration>(least, (to - from) * (100 - percent_) / percent_);
  }

 private:
  unsigned percent_;  // 1 to 100
  platform::MonotonicTime next_{};
};

}  // namespace dispatcher
