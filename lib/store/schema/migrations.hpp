// The schema's version: numbered files of SQL, applied in order and recorded in `migraciones`.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/store/schema/lock_wait.hpp"
#include "lib/store/session/session.hpp"

namespace store {

struct Migration {
  int number;        // from the file's name, NNNN_name.sql
  std::string name;  // the file's name
  std::string sql;
};

/// A file is missing, misnamed, repeated, or differs from what was applied. One line.
struct MigrationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The files of a folder, by number, without gaps from 1. Throws MigrationError.
std::vector<Migration> read_migrations(const std::string& folder);

struct MigrationState {
  int number;
  std::string name;
  std::optional<UtcTime> applied;  // unset: pending
};
std::vector<MigrationState> migration_status(Session& session, const std::vector<Migration>& migrations);

struct MigrationTimes {
  platform::Milliseconds silence = std::chrono::minutes(5);  // of one that was killed, for which others wait
  Patience patience = {};
};

/// Applies what is missing, in order, telling `progress` the name of each; the names applied. Safe when
/// several run at once: one works, the others wait for it (MigrationGuard, kept with `guard_session`) and
/// find nothing to do. Each statement can be run again, so a migration cut short is repeated. From then on
/// the session's statements wait but briefly for a table. Throws MigrationError, also when others keep a
/// table locked; DatabaseError.
std::vector<std::string> migrate(Session& session, Session& guard_session,
                                 const std::vector<Migration>& migrations,
                                 const std::function<void(const std::string&)>& progress,
                                 const MigrationTimes& times = {});

/// The statements of a file: split at `;` outside quotes and comments. Pure, for tests.
std::vector<std::string> split_statements(std::string_view sql);

}  // namespace store
