// The open transactions of the server, which may hold locks.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"

namespace store {

struct OpenTransactionOf {
  std::string connection, user, host, command;
  std::string since;  // ISO 8601, UTC
  bool locks_rows;
  bool waits;  // for a lock itself, so it is not what others wait for in the end
};

/// Code of the DatabaseError that find_open_transactions throws when the user lacks the right PROCESS.
inline constexpr int no_right_to_see = 1227;

/// Returns other sessions' transactions that have been open for at least `age`, the oldest first, three at
/// most. MariaDB and MySQL name the holder of a lock itself only with a plugin or a further right.
std::vector<OpenTransactionOf> find_open_transactions(Session& session, std::chrono::seconds age);

/// Returns one line on the transactions that may have held a row's lock for `age`, or why none is named. A
/// user without PROCESS must have EXECUTE of sesion_con_bloqueos (sql/grants/sessions.sql), as
/// apientidades-admin does. Does not throw.
std::string describe_lock_holders(Session& session, std::chrono::seconds age);

}  // namespace store
