// Ensures that only one program at a time changes the schema.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "lib/store/session/session.hpp"

namespace store {

/// The row of `migracion_guardia`, taken by a conditional UPDATE, not by GET_LOCK, so that the guard also
/// works on a cluster. A thread renews the guard on a session of its own, because a statement that changes a
/// big table takes hours. If nothing renews the guard, for example after a kill, it expires after `silence`.
class MigrationGuard {
 public:
  /// `session` must outlive this object, and is for this object alone after take().
  MigrationGuard(Session& session, platform::Milliseconds silence);
  /// Releases the guard.
  ~MigrationGuard();
  MigrationGuard(const MigrationGuard&) = delete;
  MigrationGuard& operator=(const MigrationGuard&) = delete;

  /// Takes the guard and begins to renew it. Returns false when another program has the guard. Throws
  /// DatabaseError. Do not call it again after it has returned true.
  bool take();
  /// Whether this object still has the guard; `session` must not be that of the constructor.
  bool held(Session& session) const;

 private:
  void renew_until(const std::stop_token& stop);

  Session& session_;
  platform::Milliseconds silence_;
  std::string owner_;  // random
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace store
