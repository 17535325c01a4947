// What the programs require of a database server, and the remedy for each thing that is missing. Checked when
// the API or the dispatcher starts, by the API's health check, by `config check` and before `db migrate`.
#pragma once

#include <string>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/session/hosts.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// SHOW SESSION, because the programs' statements use the session's values. `timestamp` is the server's
/// clock.
inline constexpr const char* required_variables =
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('version', 'timestamp', 'tx_isolation', "
    "'transaction_isolation', 'log_bin', 'binlog_format', 'read_only', 'super_read_only', "
    "'innodb_read_only', 'sql_mode', 'character_set_client', 'character_set_connection', "
    "'character_set_results', 'max_allowed_packet', 'innodb_page_size')";

/// `text` is one line: the problem and its remedy.
struct ServerProblem {
  std::string text;
  bool stops;  // true: the programs must not work with this server; false: a warning for the operator
};

/// This host's time before and after the variables were read.
struct Asked {
  platform::UtcTime from, until;
};

/// Finds the problems. Pure. A difference of the clocks never stops the programs, because rests, leases and
/// quotas use the server's clock alone.
std::vector<ServerProblem> server_problems(const ServerVariables& variables, const Asked& asked);

/// Reads the variables by one statement, and returns the problems. Throws as Session does.
std::vector<ServerProblem> look_at_server(Session& session);

/// Returns the warnings. If problems stop the programs, throws Unavailable with the texts of these problems,
/// and disconnects the session, because a remedy applies to new sessions only.
std::vector<std::string> require_server(Session& session);

/// Tests, without changing a row, that the API's user can write: a read-only server or a global read lock
/// makes the statement fail. Throws as Session does.
void try_write(Session& session);

}  // namespace store
