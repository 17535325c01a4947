// INSERTs of notifications that wait for another session's lock, for the operator
// (docs/drivers.md#what-an-open-transaction-does-at-repeatable-read).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/store/session/session.hpp"

namespace store {

struct BlockedInserts {
  std::chrono::seconds longest;  // wait; the server ends a wait with error 1205, after 50 s by default
  std::string holders;           // which transactions may hold the lock, or why none is named
};

/// Returns nullopt if no INSERT has waited for some seconds. Throws DatabaseError if this user may not
/// execute the function of sql/grants/sessions.sql, which only apientidades-admin may.
std::optional<BlockedInserts> find_blocked_inserts(Session& session);

}  // namespace store
