// Executes a statement that changes a table in use. While the statement waits for a transaction that has read
// the table, every later statement on the table waits, too; so each try waits briefly, and the pauses between
// tries let those statements pass.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"

namespace store {

/// How long a migration waits for a table that other sessions use.
struct Patience {
  int wait_s = 3;  // each try
  int tries = 12;
  platform::Milliseconds pause = std::chrono::seconds(10);  // between two tries
};

/// Limits the session's wait for the lock of a table to `patience.wait_s`.
void limit_lock_wait(Session& session, const Patience& patience);

/// Executes the statement, in up to `patience.tries` tries. Calls `progress` with a text after each failed
/// try. The text lists the sessions that may hold the lock, unless the list is the same as after the previous
/// try. Throws LockTimeout after the last try; then the statement has changed nothing.
void execute_in_tries(Session& session, std::string_view statement, const Patience& patience,
                      const std::function<void(const std::string&)>& progress);

}  // namespace store
