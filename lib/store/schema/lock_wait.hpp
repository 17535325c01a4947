// A statement that changes a table in use. While it waits for a transaction that has read the table, every
// later statement on that table waits behind it: so it waits briefly, and makes way between its tries.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"

namespace store {

/// How long a migration waits for a table that others use.
struct Patience {
  int wait_s = 3;  // each try
  int tries = 12;
  platform::Milliseconds pause = std::chrono::seconds(10);  // between two of them
};

/// The session's statements wait no longer than one try for the lock of a table.
void limit_lock_wait(Session& session, const Patience& patience);

/// Executes it as often as `patience` says; before each pause `progress` is told who may hold the lock.
/// Throws LockTimeout once it has given up: the statement has changed nothing then.
void execute_in_tries(Session& session, std::string_view statement, const Patience& patience,
                      const std::function<void(const std::string&)>& progress);

}  // namespace store
