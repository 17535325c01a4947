// A database session: the adapter of MySQL Connector/C++, which nothing outside this library sees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "platform/clock.hpp"
#include "platform/config.hpp"

namespace store {

using platform::UtcTime;

/// Whatever the database refused; the message is for the log, never for a client.
struct DatabaseError : std::runtime_error {
  DatabaseError(int code_, const std::string& message) : std::runtime_error(message), code(code_) {}
  int code;  // the server's or the client library's error number
};
/// The server is away, or the connection was lost: the session reconnects at its next use. A COMMIT that
/// ended so may have happened.
struct Unavailable : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// Deadlock, lock time-out, certification failure: the transaction did not happen and may be run again as a
/// whole.
struct Conflict : DatabaseError {
  using DatabaseError::DatabaseError;
};
/// Error 1205: somebody has held a row for longer than lock_wait_s. To try again at once is to wait as long
/// again.
struct LockTimeout : Conflict {
  using Conflict::Conflict;
};
/// Error 1062: a unique key. The message names it.
struct DuplicateKey : DatabaseError {
  using DatabaseError::DatabaseError;
};

/// A parameter of a prepared statement. Binary values travel as hex (`UNHEX(?)`), where connection charsets
/// cannot touch them; columns of a binary type come back as they are.
class Parameter {
 public:
  enum class Kind { null, integer, unsigned_integer, text };

  Parameter(std::nullptr_t) {}
  Parameter(std::int64_t v) : kind(Kind::integer), number(static_cast<std::uint64_t>(v)) {}
  Parameter(std::uint64_t v) : kind(Kind::unsigned_integer), number(v) {}
  Parameter(int v) : Parameter(std::int64_t{v}) {}
  Parameter(unsigned v) : Parameter(std::uint64_t{v}) {}
  Parameter(bool v) : Parameter(std::int64_t{v}) {}
  Parameter(std::string_view v) : kind(Kind::text), text(v) {}
  Parameter(const std::string& v) : Parameter(std::string_view(v)) {}
  Parameter(const char* v) : Parameter(std::string_view(v)) {}
  Parameter(UtcTime v);  ///< as a DATETIME(3) in UTC
  template <class T>
  Parameter(const std::optional<T>& v) {
    if (v) *this = Parameter(*v);
  }

  Kind kind = Kind::null;
  std::uint64_t number = 0;  // of both integer kinds, as its bits
  std::string text;
};

/// A row of a result, copied out. Columns count from 0 in the order of the SELECT list.
class Row {
 public:
  explicit Row(std::vector<std::optional<std::string>> cells) : cells_(std::move(cells)) {}
  bool null(std::size_t column) const { return !cells_.at(column).has_value(); }
  /// Throw std::runtime_error for NULL (a statement that does not match its reader).
  const std::string& text(std::size_t column) const;
  std::int64_t integer(std::size_t column) const;
  std::uint64_t unsigned_integer(std::size_t column) const;
  bool boolean(std::size_t column) const { return integer(column) != 0; }
  UtcTime time(std::size_t column) const;  ///< of a column selected through STORE_EPOCH_MS
  std::optional<std::string> optional_text(std::size_t column) const;
  std::optional<std::int64_t> optional_integer(std::size_t column) const;
  std::optional<UtcTime> optional_time(std::size_t column) const;

 private:
  std::vector<std::optional<std::string>> cells_;
};
using Rows = std::vector<Row>;

/// SQL text of a DATETIME(3) as milliseconds since 1970, for Row::time. UNIX_TIMESTAMP would end in 2038 on
/// MariaDB, and the connector drops the fraction of a DATETIME in the binary protocol.
/// A literal of its type: a text would be read as a date again for every row.
#define STORE_EPOCH_MS(column) \
  "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', " column ") DIV 1000"

struct SessionOptions {
  std::string program_user;  // used when database.user is not set: "apientidades_api", …
  int read_timeout_s = 10;   // 0: none (migrations)
  int lock_wait_s = 5;       // for a row that somebody else has locked
  /// Takes the place of a longer read_timeout_s (but for 0) when there are several servers: one that is
  /// silent for so long is away. More than the 5 s to 6 s for which a cluster stands still when a node dies.
  int failover_s = 7;
  /// Told of every error but DuplicateKey, before it is thrown, on the session's thread. Must not throw.
  std::function<void(const DatabaseError&)> on_error{};
  /// Told, of several servers, of each that cannot be used before the next one is tried. Must not throw.
  std::function<void(const std::string& error)> on_skipped{};
};

/// One connection, used by one thread at a time. It connects at first use and, after a loss, again at the
/// next one. Every connection is UTC, READ COMMITTED, strict and utf8mb4; with tls_ca, verified TLS or an
/// error. A transaction without a statement for 4 s is ended by the server, and the connection with it
/// (MariaDB). Of several servers (hosts.hpp) it stays with the one that works, takes only one that is
/// writable and in the majority of its cluster, and reads what was committed on any node before.
class Session {
 public:
  /// Throws platform::FileError when there is a password file that cannot be read.
  Session(platform::DatabaseSettings settings, SessionOptions options);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Connects if it is not connected. Throws Unavailable (or DatabaseError: wrong password, no such
  /// database).
  void connect();

  /// Prepared once per connection and SQL text. All throw Unavailable, Conflict, DuplicateKey or
  /// DatabaseError.
  template <class... P>
  Rows query(std::string_view sql, const P&... parameters) {
    return run_query(sql, std::vector<Parameter>{Parameter(parameters)...});
  }
  /// Affected rows: changed rows for UPDATE.
  template <class... P>
  std::uint64_t update(std::string_view sql, const P&... parameters) {
    return run_update(sql, std::vector<Parameter>{Parameter(parameters)...});
  }
  Rows run_query(std::string_view sql, const std::vector<Parameter>& parameters);
  std::uint64_t run_update(std::string_view sql, const std::vector<Parameter>& parameters);

  /// Unprepared, without parameters: transaction control and DDL.
  void execute(std::string_view sql);

  /// AUTO_INCREMENT value of the last INSERT (the first one of several rows).
  std::int64_t last_insert_id();

  bool connected() const noexcept;
  /// Drops the connection; the next use makes a new one.
  void disconnect() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs `body` in a transaction; a Conflict runs the whole of it again, up to 5 times, but for a LockTimeout.
/// Any other exception rolls back. COMMIT is a statement: Connection::commit() hides errors.
template <class F>
auto transaction(Session& session, F&& body);

}  // namespace store

#include "store/session/transaction.inl"
