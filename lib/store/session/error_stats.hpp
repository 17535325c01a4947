// Counts database errors and keeps the last one, for metrics and health checks.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "lib/platform/log.hpp"
#include "lib/store/session/session.hpp"

namespace store {

enum class ErrorKind {
  unavailable,  // no usable connection
  conflict,     // deadlock, lock wait, time limit, conflict in a cluster: the transaction did not happen
  refused,      // anything else
};
inline constexpr std::array<std::string_view, 3> error_kinds{"unavailable", "conflict", "refused"};
ErrorKind kind_of(const DatabaseError& error);

/// Thread-safe. Must outlive the sessions that it observes.
class ErrorStats {
 public:
  /// Calls `count` for each error, from any thread. `count` must not throw.
  explicit ErrorStats(std::function<void(ErrorKind)> count) : count_(std::move(count)) {}

  /// Returns options for a session that notes its errors here, and logs servers that it cannot use.
  SessionOptions observed(SessionOptions options, const platform::Log& log);

  void note(const DatabaseError& error);
  /// Time and text of the last error that was no conflict (conflicts are normal); empty if there was none.
  std::string last() const;

 private:
  std::function<void(ErrorKind)> count_;
  mutable std::mutex mutex_;
  std::string last_;
};

}  // namespace store
