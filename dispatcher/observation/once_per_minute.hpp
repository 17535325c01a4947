// Sums up what happens often, so that the log gets one line a minute. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "lib/platform/clock.hpp"

namespace dispatcher {

class OncePerMinute {
 public:
  void add(std::uint64_t count) { sum_ += count; }
  /// Returns the sum since it was last taken if the log is to be written now: the first at once, then one a
  /// minute, and the rest when `stopping`. nullopt: nothing was added, or it is too early.
  std::optional<std::uint64_t> take_if_due(platform::MonotonicTime now, bool stopping = false) {
    if (sum_ == 0 || (now < next_ && !stopping)) return std::nullopt;
    next_ = now + std::chrono::minutes(1);
    return std::exchange(sum_, 0);
  }

 private:
  std::uint64_t sum_ = 0;
  platform::MonotonicTime next_{};
};

}  // namespace dispatcher
