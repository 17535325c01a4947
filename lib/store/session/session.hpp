// A database session: the adapter of MySQL Connector/C++, which nothing outside this library sees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/config.hpp"
#include "lib/store/session/errors.hpp"
#include "lib/store/session/parameter.hpp"
#include "lib/store/session/row.hpp"

namespace store {

struct SessionOptions {
  std::string program_user;  // used when database.user is not set: "apientidades_api", …
  int read_timeout_s = 10;   // 0: none (migrations)
  int lock_wait_s = 5;       // for a row that somebody else has locked
  /// Takes the place of a longer read_timeout_s (but for 0) when there are several servers: one that is
  /// silent for so long is away. More than the 5 s to 6 s for which a cluster stands still when a node dies.
  int failover_s = 7;
  bool read_only = false;  // the server refuses what would change a row (error 1792)
  /// Told of every error but DuplicateKey, before it is thrown, on the session's thread. Must not throw.
  std::function<void(const DatabaseError&)> on_error{};
  /// Told, of several servers, of each that cannot be used before the next one is tried. Must not throw.
  std::function<void(const std::string& error)> on_skipped{};
};

namespace detail {
class OpenTransaction;
}

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

  /// Connects if it is not connected. Throws Unavailable: also of a wrong password, or no such database.
  void connect();

  /// Prepared once per connection and SQL text. All throw Unavailable, Conflict, Refused (DuplicateKey) or
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

  /// Or MySQL. Connects if it is not connected; throws as connect() does.
  bool is_mariadb();

  bool connected() const noexcept;
  /// When a statement was last sent.
  platform::MonotonicTime last_used() const noexcept;
  /// Drops the connection; the next use makes a new one.
  void disconnect() noexcept;

 private:
  friend class detail::OpenTransaction;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool in_transaction_ = false;
};

/// Runs `body` in a transaction; a Conflict runs the whole of it again, up to 5 times, but for a LockTimeout
/// or an Interrupted. Any other exception rolls back. Within another one it is a part of that, which commits
/// or repeats the whole. COMMIT is a statement: Connection::commit() hides errors.
template <class F>
auto transaction(Session& session, F&& body);

}  // namespace store

#include "lib/store/session/transaction.inl"
