// Whether the API can work, for load balancers: the database answers, accepts writes and meets the
// requirements.
#pragma once

#include <array>
#include <functional>
#include <mutex>

#include "lib/platform/clock.hpp"

namespace api {

/// The checks of the database. Reads and writes alternate; every eleventh check is `requirements`.
enum class DatabaseCheck { requirements, read, write };

/// One per process, thread-safe. good() checks the database at most once a second, however often it is
/// called, and never twice at the same time.
class Health {
 public:
  /// Returns true if the latest check of each kind succeeded; a kind not yet checked counts as a success. If
  /// the last answer is older than `validity`, makes the next check: `ask` carries it out and returns whether
  /// it succeeded. A failed check is repeated next. While another thread checks, returns the last answer, or
  /// false if that answer is older than `patience`, so that a hanging database soon counts as failed.
  bool good(platform::MonotonicTime now, const std::function<bool(DatabaseCheck)>& ask);

  static constexpr platform::Milliseconds validity{1000};
  static constexpr platform::Milliseconds patience{3000};

 private:
  DatabaseCheck next() const;

  std::mutex asking_;  // also guards the next two members
  unsigned turn_ = 0;
  std::array<bool, 3> went_well_{true, true, true};
  std::mutex mutex_;  // guards the rest; locked briefly
  bool good_ = false;
  platform::MonotonicTime answered_{};  // when `good_` was determined
  bool known_ = false;                  // `good_` has been determined
};

}  // namespace api
