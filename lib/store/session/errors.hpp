// The exceptions of a database session.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace store {

/// Any error of the database. Log what(), and never show it to a client.
struct DatabaseError : std::runtime_error {
  DatabaseError(int code_, const std::string& message) : std::runtime_error(message), code(code_) {}
  int code;  // the server's or the client library's error number
};
/// The server is unreachable, refuses logins or accepts no writes, or the connection was lost; the session
/// reconnects at its next use. A COMMIT that throws this may have taken effect.
struct Unavailable : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// Deadlock, lock time-out or certification failure: the transaction did not happen, and may run again as a
/// whole.
struct Conflict : DatabaseError {
  using DatabaseError::DatabaseError;
};
inline constexpr int lock_timeout_code = 1205;
/// Error 1205: another session has kept a row or a table locked for longer than this session waits. An
/// immediate retry would wait as long again.
struct LockTimeout : Conflict {
  using Conflict::Conflict;
};
/// The statement was ended by KILL QUERY or by the operator's time limit, or failed because another session
/// keeps the table's AUTO_INCREMENT locked (no_number_code). transaction() does not repeat the transaction:
/// it would fail again, or run although the operator has ended it.
struct Interrupted : Conflict {
  using Conflict::Conflict;
};
/// The database refuses a row's content: a CHECK, a foreign key, a value that does not fit its column, a
/// trigger (SQLSTATE classes 21, 22, 23, 44 and 45, and some codes). Other rows are not affected.
struct Refused : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// Error 1062: a row with this unique key exists already; what() names the key.
struct DuplicateKey : Refused {
  using Refused::Refused;
};

/// The server cannot number a row. On MariaDB another session's INSERT … SELECT keeps the AUTO_INCREMENT of
/// the table locked; on MySQL there are no numbers left.
inline constexpr int no_number_code = 1467;

/// Not an error of the database: transaction() commits when its body throws this.
struct CommittedRefusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The client library's error when the server offers no TLS, or its certificate cannot be verified.
inline constexpr int tls_code = 2026;

/// The client library's error when the server asks for the password in a way that would reveal it
/// (authentication.hpp). The library's text for this error contains uninitialised memory where the name of
/// the authentication plugin should be.
inline constexpr int refused_authentication_code = 5010;

/// Whether the connection is unusable: lost, killed, out of sync, or open to a server that cannot write.
bool is_unavailable(int code, std::string_view message);

/// Returns the message with the code and the operator's remedy.
std::string described_error(int code, const std::string& message);

/// Throws the exception for a code and SQLSTATE, with the operator's remedy in its message.
[[noreturn]] void throw_database_error(int code, std::string_view state, const std::string& message);

}  // namespace store
