// What a database session throws.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace store {

/// Whatever the database refused; the message is for the log, never for a client.
struct DatabaseError : std::runtime_error {
  DatabaseError(int code_, const std::string& message) : std::runtime_error(message), code(code_) {}
  int code;  // the server's or the client library's error number
};
/// The server is away, refuses logins or takes no writes, or the connection was lost: the session reconnects
/// at its next use. A COMMIT that ended so may have happened.
struct Unavailable : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// Deadlock, lock time-out, certification failure: the transaction did not happen and may be run again as a
/// whole.
struct Conflict : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// A row or a table was locked for too long.
inline constexpr int lock_timeout_code = 1205;
/// Error 1205: somebody has held a row for longer than lock_wait_s. To try again at once is to wait as long
/// again.
struct LockTimeout : Conflict {
  using Conflict::Conflict;
};
/// The operator ended the statement, by KILL QUERY or a limit of its time: at once it would end so again.
struct Interrupted : Conflict {
  using Conflict::Conflict;
};
/// A row's content is refused: a CHECK, a foreign key, a value that does not fit its column, a trigger
/// (SQLSTATE classes 21, 22, 23, 44 and 45). It concerns that row alone: others pass.
struct Refused : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// Error 1062: a unique key. The message names it.
struct DuplicateKey : Refused {
  using Refused::Refused;
};

/// The client library's: no TLS, or a certificate that is not the server's.
inline constexpr int tls_code = 2026;

/// The client library's, in whose text is no plugin's name but what was in memory: the server wants the
/// password in a way that gives it away (authentication.hpp).
inline constexpr int refused_authentication_code = 5010;

/// The connection is of no further use: lost, killed, out of step, or to a server that cannot write.
bool is_unavailable(int code, std::string_view message);

/// With the code, and what the operator can do about it.
std::string described_error(int code, const std::string& message);

/// Throws the error of a code and SQLSTATE, with what the operator can do about it.
[[noreturn]] void throw_database_error(int code, std::string_view state, const std::string& message);

}  // namespace store
