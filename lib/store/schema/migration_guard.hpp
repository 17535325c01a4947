// Who may change the schema: one program at a time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "lib/store/session/session.hpp"

namespace store {

/// A row of `migracion_guardia`, taken by a guarded UPDATE and no GET_LOCK, so that it also holds on a
/// cluster. It lapses when it has not been renewed for a while: whoever took it was killed. A thread renews
/// it, with a session that nobody else uses meanwhile: a statement that changes a big table takes hours.
class MigrationGuard {
 public:
  /// `session` outlives it.
  MigrationGuard(Session& session, platform::Milliseconds silence);
  /// Gives it back.
  ~MigrationGuard();
  MigrationGuard(const MigrationGuard&) = delete;
  MigrationGuard& operator=(const MigrationGuard&) = delete;

  /// False: somebody else has it. Throws DatabaseError. Not again once it is taken.
  bool take();
  /// Whether it is still this one's, by another session than its own.
  bool held(Session& session) const;

 private:
  void renew_until(const std::stop_token& stop);

  Session& session_;
  platform::Milliseconds silence_;
  std::string owner_;  // at random
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace store
