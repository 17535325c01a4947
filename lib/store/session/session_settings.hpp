// What a session sets before anything else, so that nothing depends on what a server happens to be set to.
// Pure.
#pragma once

#include <string>

namespace store {

/// One statement, the first of every connection: everything that the programs' statements rely on, whatever
/// my.cnf, SET GLOBAL, init_connect or skip-character-set-client-handshake say. `lock_wait_s`: for a row.
std::string session_settings(int lock_wait_s);

/// For a table that DDL, LOCK TABLES or FLUSH TABLES WITH READ LOCK holds. More than the 3 s of a migration's
/// try, less than any read_timeout_s: the wait ends at the server, not with a connection that is given up.
inline constexpr int table_lock_wait_s = 4;

}  // namespace store
