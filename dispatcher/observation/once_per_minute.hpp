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
  /// Adds `count`. Returns the sum since the last report if the log is to be written now: the first at once,
  /// and then one a minute. Who wants the last sum, too, goes on with a count of 0.
  std::optional<std::uint64_t> add(std::uint64_t count, platform::MonotonicTime now) {
    sum_ += count;
    if (sum_ == 0 || now < next_) return std::nullopt;
    next_ = now + std::chrono::minutes(1);
    return std::exchange(sum_, 0);
  }

 private:
  std::uint64_t sum_ = 0;
  platform::MonotonicTime next_{};
};

}  // namespace dispatcher
