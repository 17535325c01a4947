// The settings that a session makes first, so that nothing depends on the server's configuration. Pure.
#pragma once

#include <string>

namespace store {

/// Returns one statement, the first of every connection, with settings that the programs' statements need,
/// whatever my.cnf, SET GLOBAL, init_connect or skip-character-set-client-handshake say. `lock_wait_s`: the
/// wait for a locked row.
std::string session_settings(int lock_wait_s);

/// How long a statement waits for a table locked by DDL, LOCK TABLES or FLUSH TABLES WITH READ LOCK. A
/// migration that waits for the lock of a table delays every later statement on that table. Each try of a
/// migration ends after 3 s, so 4 s are enough for the delayed statements. The programs' read time-outs are
/// longer (5 s or more), so the client does not drop the connection during this wait.
inline constexpr int table_lock_wait_s = 4;

}  // namespace store
