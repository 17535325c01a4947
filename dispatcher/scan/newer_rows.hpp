// Logs, at most once a minute, that this dispatcher leaves rows to a dispatcher of a newer release.
#pragma once

#include <string_view>

#include "lib/platform/clock.hpp"
#include "lib/platform/log.hpp"

namespace dispatcher {

class NewerRows {
 public:
  explicit NewerRows(const platform::Log& log) : log_(log) {}
  /// `count` rows were left; later searches find them again. `what`: `notifications` or `deliveries`.
  void left(std::string_view what, std::size_t count);

 private:
  platform::Log log_;
  platform::MonotonicTime next_report_{};
};

}  // namespace dispatcher
