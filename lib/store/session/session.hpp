// A database session: the adapter of MySQL Connector/C++, which no code outside this library sees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/store/session/errors.hpp"
#include "lib/store/session/parameter.hpp"
#include "lib/store/session/row.hpp"

namespace store {

struct SessionOptions {
  std::string program_user;  // the user if database.user is empty: "apientidades_api", …
  int read_timeout_s = 10;   // 0: no time-out (migrations)
  int lock_wait_s = 5;       // for a row that another session has locked
  /// With several servers, lowers read_timeout_s to this value (0 stays 0). A server that is silent for
  /// longer counts as unreachable. The value exceeds the 5 to 6 s for which a cluster stops when a node dies.
  int failover_s = 7;
  bool read_only = false;  // the server refuses changes of rows (error 1792)
  /// False: an unreadable password file is an error of connect(), not of the constructor.
  bool needs_password = true;
  /// Called for every DatabaseError except DuplicateKey before it is thrown, on the session's thread. Must
  /// not throw.
  std::function<void(const DatabaseError&)> on_error{};
  /// With several servers, called for each unusable server before the next is tried. Must not throw.
  std::function<void(const std::string& error)> on_skipped{};
};

/// The file of the password of the program with the user `program_user`; empty: it connects without one.
std::string password_file(const config::DatabaseSettings& settings, const std::string& program_user);

/// The file in /etc/apientidades of the password of the program with the user `program_user`.
std::string installed_password_file(const std::string& program_user);

/// Throws platform::FileError, which names the key, if the file cannot be read, holds no password, or may be
/// read by every user of this host.
void require_password(const std::string& file);

namespace detail {
class OpenTransaction;
}

/// One connection, used by one thread at a time. Connects at first use, and reconnects at the first use after
/// a loss. Every connection uses UTC, READ COMMITTED, a strict sql_mode and utf8mb4; with tls_ca, also
/// verified TLS. MariaDB closes a connection that has an open transaction and sends no statement for 4 s.
/// Over the network (lib/store/session/hosts.hpp) the session accepts only a writable server in the majority
/// of its cluster, and stays with that server while it works; a session that only reads, and has one address,
/// accepts any. A query then reads everything that any node committed before the query. Outside of
/// transactions, a query first checks, at most once a second, whether the server is still writable.
class Session {
 public:
  /// Throws platform::FileError as require_password() does, if the options need the password.
  Session(config::DatabaseSettings settings, SessionOptions options);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Connects if it is not connected. Throws Unavailable, also for a wrong password, an unknown database, or
  /// a password file that can no longer be read.
  void connect();

  /// Prepares each SQL text once per connection. Every use of the connection may throw Unavailable, Conflict,
  /// Refused (a DuplicateKey, for example) or another DatabaseError.
  template <class... P>
  Rows query(std::string_view sql, const P&... parameters) {
    return run_query(sql, std::vector<Parameter>{Parameter(parameters)...});
  }
  /// Returns the number of affected rows; for UPDATE, of changed rows.
  template <class... P>
  std::uint64_t update(std::string_view sql, const P&... parameters) {
    return run_update(sql, std::vector<Parameter>{Parameter(parameters)...});
  }
  Rows run_query(std::string_view sql, const std::vector<Parameter>& parameters);
  std::uint64_t run_update(std::string_view sql, const std::vector<Parameter>& parameters);

  /// Executes without preparing: transaction control and DDL.
  void execute(std::string_view sql);

  /// The AUTO_INCREMENT value of the last INSERT (of its first row).
  std::int64_t last_insert_id();

  /// Whether the server is MariaDB; otherwise it is MySQL. Connects if it is not connected; throws as
  /// connect() does.
  bool is_mariadb();

  /// Calls `progress` on the session's thread before each statement, and between a statement's preparation
  /// and its execution. While the session connects, calls `progress` before it tries a server, and before
  /// each check of that server. `progress` must not throw or use the session.
  void before_statements(std::function<void()> progress);

  bool connected() const noexcept;
  /// The time of the last call to the connector.
  platform::MonotonicTime last_used() const noexcept;
  /// Drops the connection; the next use makes a new one.
  void disconnect() noexcept;

 private:
  friend class detail::OpenTransaction;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool in_transaction_ = false;
};

/// Runs `body` in a transaction. A Conflict other than LockTimeout and Interrupted repeats the whole
/// transaction, for at most 5 runs in all. If `body` throws a CommittedRefusal, the transaction is
/// committed; after any other exception it is rolled back. Within an open transaction `body` becomes a part
/// of it. COMMIT is sent as a statement, because Connection::commit() hides errors.
template <class F>
auto transaction(Session& session, F&& body);
/// As transaction(), and repeats the transaction after a DuplicateKey, 8 times at most: another session has
/// inserted the row first. `body` must look for that row before it inserts. Repeats nothing within an open
/// transaction.
template <class F>
auto transaction_past_duplicates(Session& session, F&& body);

}  // namespace store

#include "lib/store/session/transaction.inl"
