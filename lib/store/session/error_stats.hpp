// What goes wrong with the database, for those who watch a program: how often, and what last.
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
  unavailable,  // no connection
  conflict,     // deadlock, lock wait, certification: what was tried did not happen, and is tried again
  refused,      // anything else
};
inline constexpr std::array<std::string_view, 3> error_kinds{"unavailable", "conflict", "refused"};
ErrorKind kind_of(const DatabaseError& error);

/// Shared by threads. It outlives the sessions that it observes.
class ErrorStats {
 public:
  /// `count` is called for each error, by any thread. Must not throw.
  explicit ErrorStats(std::function<void(ErrorKind)> count) : count_(std::move(count)) {}

  /// Options of a session whose errors are noted, and that tells the log of servers that cannot be used.
  SessionOptions observed(SessionOptions options, const platform::Log& log);

  void note(const DatabaseError& error);
  /// Time and text of the last one, conflicts apart: they are part of the work. Empty: there was none.
  std::string last() const;

 private:
  std::function<void(ErrorKind)> count_;
  mutable std::mutex mutex_;
  std::string last_;
};

}  // namespace store
