// Sums up the loop's tasks that took long, so that the log names what slowed the loop, once a minute. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dispatcher/observation/once_per_minute.hpp"
#include "lib/platform/clock.hpp"

namespace dispatcher {

class SlowTasks {
 public:
  using Span = platform::MonotonicTime::duration;
  static constexpr std::chrono::seconds slow{1};

  struct Report {
    std::uint64_t times;       // that a task was slow since the last report
    std::string_view longest;  // the task that took longest, and how long
    Span took;
  };

  /// A task has ended. `name` outlives this object. True: it was slow.
  bool ended(std::string_view name, Span took) {
    if (took < slow) return false;
    times_.add(1);
    if (took > took_) {
      longest_ = name;
      took_ = took;
    }
    return true;
  }

  /// Returns what to log now, if anything: the first at once, then once a minute, and the rest when
  /// `stopping`.
  std::optional<Report> report(platform::MonotonicTime now, bool stopping = false) {
    const auto times = times_.take_if_due(now, stopping);
    if (!times) return std::nullopt;
    return Report{*times, longest_, std::exchange(took_, Span{})};
  }

 private:
  OncePerMinute times_;
  std::string_view longest_;
  Span took_{};
};

}  // namespace dispatcher
