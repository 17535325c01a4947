// What the programs need of a database server beyond an answer, and what its operator can do where it is
// missing: for the start, the health check and `config check`.
#pragma once

#include <string>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/session/hosts.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// A session's own values: what its statements meet. `timestamp` is the server's clock.
inline constexpr const char* required_variables =
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('version', 'timestamp', 'tx_isolation', "
    "'transaction_isolation', 'log_bin', 'binlog_format', 'read_only', 'super_read_only', "
    "'innodb_read_only', 'sql_mode', 'character_set_client', 'character_set_connection', "
    "'character_set_results', 'max_allowed_packet')";

/// One line that names what is wrong, and the remedy.
struct ServerProblem {
  std::string text;
  bool stops;  // no delivery can be recorded; otherwise the programs work on, and the operator should know
};

/// The system's clock before and after the variables were read.
struct Asked {
  platform::UtcTime from, until;
};

/// Pure. A clock apart stops nothing: rests, leases and quotas are reckoned by the server's clock alone, and
/// the system's own only dates signatures and log lines.
std::vector<ServerProblem> server_problems(const ServerVariables& variables, const Asked& asked);

/// One statement. Throws as Session does.
std::vector<ServerProblem> look_at_server(Session& session);

/// The texts of what stops nothing. Throws Unavailable with all that does; the session is dropped then, since
/// what is mended holds for new ones.
std::vector<std::string> require_server(Session& session);

/// Whether the API's user can write, of no row: refused by a read-only server, a binary log that has no room
/// for it, a global read lock. Throws as Session does.
void try_write(Session& session);

}  // namespace store
