// Logs that rows are left to a newer release of the dispatcher, at most once a minute.
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
