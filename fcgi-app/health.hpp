// Whether the API can do its work, for load balancers: it can when the database answers, takes writes and is
// set as the programs need it.
#pragma once

#include <array>
#include <functional>
#include <mutex>

#include "lib/platform/clock.hpp"

namespace api {

/// What is asked of the database, in turn.
enum class Probe { requirements, read, write };

/// One per process, for all its threads. However often it is asked, it asks the database once a second at
/// most, and never twice at a time.
class Health {
 public:
  /// `ask`: whether one of them went well; called or not. Good when all went well at their last turns: one
  /// that did not is the next again. While another thread asks, the last answer holds for `patience`: a
  /// database that hangs is soon no answer.
  bool good(platform::MonotonicTime now, const std::function<bool(Probe)>& ask);

  static constexpr platform::Milliseconds validity{1000};
  static constexpr platform::Milliseconds patience{3000};

 private:
  Probe next() const;

  std::mutex asking_;  // of the next two, too
  unsigned turn_ = 0;
  std::array<bool, 3> went_well_{true, true, true};
  std::mutex mutex_;  // of the rest; held for a moment
  bool good_ = false;
  platform::MonotonicTime answered_{};  // when `good_` was found out
  bool known_ = false;
};

}  // namespace api
