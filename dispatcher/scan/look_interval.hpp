// How long the queue scanner waits between its looks. Pure.
#pragma once

#include <algorithm>
#include <utility>

#include "lib/platform/clock.hpp"

namespace dispatcher {

/// After a look that finds new notifications, the wait is an eighth of the poll interval, because further
/// notifications are likely soon. The wait doubles after each look that finds none, up to the poll interval.
/// After a while without work, QueueScanner waits longest(), twice the poll interval.
class LookInterval {
 public:
  /// `poll_interval`: 1 ms or more.
  explicit LookInterval(platform::Milliseconds poll_interval) : poll_(poll_interval), next_(poll_interval) {}

  /// `unread`: some new notifications have not been read yet. They give the dispatcher work until the next
  /// look, so the wait is longer: a quarter of the poll interval instead of an eighth.
  platform::Milliseconds after_new(bool unread) {
    return next_ = std::max(platform::Milliseconds{1}, poll_ / (unread ? 4 : 8));
  }
  platform::Milliseconds after_none() { return next_ = std::min(2 * next_, poll_); }
  platform::Milliseconds longest() const { return 2 * poll_; }

  /// Returns the shorter of `took`, the duration of this look, and the duration of the look before. A single
  /// slow look may only have waited for a processor, and must not lengthen the wait until the next look.
  platform::MonotonicTime::duration counted(platform::MonotonicTime::duration took) {
    return std::min(took, std::exchange(former_, took));
  }

 private:
  platform::Milliseconds poll_;
  platform::Milliseconds next_;
  platform::MonotonicTime::duration former_{};
};

}  // namespace dispatcher
