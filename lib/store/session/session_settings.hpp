// The settings that a session makes first, so that nothing depends on the server's configuration. Pure.
#pragma once

#include <string>

namespace store {

/// Returns one statement, the first of every connection, with settings that the programs' statements need,
/// whatever my.cnf, SET GLOBAL, init_connect or skip-character-set-client-handshake say. `lock_wait_s`: the
/// wait for a locked row.
std::string session_settings(int lock_wait_s);

/// The wait for a table locked by DDL, LOCK TABLES or FLUSH TABLES WITH READ LOCK. It outlasts one try of a
/// migration (3 s), which delays every later statement on the table. It ends before any read_timeout_s, after
/// which the client would drop the connection.
inline constexpr int table_lock_wait_s = 4;

}  // namespace store
