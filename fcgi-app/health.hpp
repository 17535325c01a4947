// Whether the API can do its work, for load balancers: it can when the database answers.
#pragma once

#include <functional>
#include <mutex>

#include "platform/clock.hpp"

namespace api {

/// One per process, for all its threads. However often it is asked, it asks the database once a second at
/// most, and never twice at a time.
class Health {
 public:
  /// `ask`: whether the database answers; called or not. While another thread asks, the last answer holds for
  /// `patience`: a database that hangs is soon no answer.
  bool good(platform::MonotonicTime now, const std::function<bool()>& ask);

  static constexpr platform::Milliseconds validity{1000};
  static constexpr platform::Milliseconds patience{3000};

 private:
  std::mutex asking_;
  std::mutex mutex_;  // of the rest; held for a moment
  bool good_ = false;
  platform::MonotonicTime answered_{};  // when `good_` was found out
  bool known_ = false;
};

}  // namespace api
