// The migrations of the schema: numbered files of SQL, applied in order and recorded in `migraciones`.
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

/// A file is missing, misnamed or repeated, or has changed since it was applied; a table stayed locked; or
/// another program took over the migration. what() is one line.
struct MigrationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads the migrations of a folder, and returns them in the order of their numbers, which must be 1, 2, 3
/// and so on. Throws MigrationError.
std::vector<Migration> read_migrations(const std::string& folder);

struct MigrationState {
  int number;
  std::string name;
  std::optional<UtcTime> applied;  // unset: pending
};
std::vector<MigrationState> migration_status(Session& session, const std::vector<Migration>& migrations);

struct MigrationTimes {
  platform::Milliseconds silence =
      std::chrono::minutes(5);  // after which another program takes over from a killed migration
  Patience patience = {};
};

/// Applies the missing migrations in order, and returns their names. Calls `progress` with the name of each
/// migration before it is applied, and with a text when migrate() has to wait. Several programs may call
/// migrate() at the same time: one takes a guard in the database (MigrationGuard) and applies the migrations,
/// while the others wait and then find nothing to do. `guard_session` is for the guard alone. Every statement
/// can run again, so an interrupted migration is repeated. Afterwards `session` still waits only
/// Patience::wait_s for a table's lock. Throws MigrationError and DatabaseError.
std::vector<std::string> migrate(Session& session, const std::vector<Migration>& migrations,
                                 Session& guard_session,
                                 const std::function<void(const std::string&)>& progress,
                                 const MigrationTimes& times = {});

/// Splits a file at `;` outside quotes and comments. Exposed for tests.
std::vector<std::string> split_statements(std::string_view sql);

}  // namespace store
