#include "lib/store/schema/migrations.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "lib/crypto/crypto.hpp"
#include "lib/platform/file.hpp"
#include "lib/store/schema/migration_guard.hpp"
#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr std::string_view create_tables[] = {
    "CREATE TABLE IF NOT EXISTS migraciones (numero INT NOT NULL PRIMARY KEY, nombre VARCHAR(200) NOT NULL,"
    " huella CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, aplicada_en DATETIME(3) NOT NULL "
    "DEFAULT "
    "(UTC_TIMESTAMP(3)))"
    " ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS migracion_guardia (id TINYINT NOT NULL PRIMARY KEY, duena CHAR(32) CHARACTER "
    "SET ascii COLLATE ascii_bin NULL,"
    " hasta DATETIME(3) NULL) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin",
    "INSERT IGNORE INTO migracion_guardia (id) VALUES (1)"};

/// The prefix of lines that are not part of a migration's fingerprint, so that a newly measured duration does
/// not change the fingerprint.
constexpr std::string_view duration_line = "-- Takes: ";

std::string fingerprint(const Migration& migration) {
  std::string text;
  for (std::string_view rest = migration.sql; !rest.empty();) {
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    if (!line.starts_with(duration_line)) text += line;
    rest.remove_prefix(line.size());
  }
  return crypto::to_hex(crypto::sha256(text));
}

/// Begins the line with the fingerprint of an earlier text that stays applied. Only the text of a migration
/// that no release has may change, if the programs can use the schema of either.
constexpr std::string_view replaces_line = "-- Replaces: ";

std::string_view replaced_fingerprint(const Migration& migration) {
  const auto at = migration.sql.find(replaces_line);
  if (at == std::string::npos) return {};
  const auto rest = std::string_view(migration.sql).substr(at + replaces_line.size());
  return rest.substr(0, rest.find('\n'));
}

bool table_exists(Session& session) {
  return !session
              .query(
                  "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = "
                  "'migraciones'")
              .empty();
}

/// Whether the migration is recorded as applied. Throws when the file differs from what was applied.
bool is_applied(Session& session, const Migration& migration) {
  const auto rows = session.query("SELECT huella FROM migraciones WHERE numero = ?", migration.number);
  if (rows.empty()) return false;
  const auto applied = rows.front().text("huella");
  if (applied != fingerprint(migration) && applied != replaced_fingerprint(migration)) {
    throw MigrationError(
        migration.name +
        " differs from the one that was applied: add a new migration instead of changing an old one");
  }
  return true;
}

void require_held(Session& session, const MigrationGuard& guard) {
  if (!guard.held(session))
    throw MigrationError("another migration took over, because this one did not renew its guard in time");
}

/// Whether a statement may change a table; SET, PREPARE and DEALLOCATE only accompany such a statement.
bool may_change(std::string_view statement) {
  return !statement.starts_with("SET ") && !statement.starts_with("PREPARE ") &&
         !statement.starts_with("DEALLOCATE ");
}

/// Names the row format of a table that a statement creates. The server's default may be COMPACT, which has
/// no room for the key of a URL (error 1709). The texts of the migrations cannot change: see is_applied().
std::string with_row_format(std::string_view statement) {
  std::string result(statement);
  if (statement.starts_with("CREATE TABLE ")) result += " ROW_FORMAT = DYNAMIC";
  return result;
}

/// Whether a statement failed because the column or key that it adds exists already, or because the one that
/// it drops does not exist.
bool is_done_already(const DatabaseError& error) {
  constexpr int codes[] = {1060, 1061, 1091};  // a column exists, a key exists, nothing to drop
  return std::ranges::find(codes, error.code) != std::end(codes);
}

/// Applies migrations on one session, and knows whether it has changed anything when it gives up.
class Runner {
 public:
  using Progress = std::function<void(const std::string&)>;

  Runner(Session& session, const Patience& patience, const Progress& progress)
      : session_(session), patience_(patience), progress_(progress) {
    limit_lock_wait(session_, patience_);
  }

  /// `what` names the statement's migration in errors.
  void execute(std::string_view statement, const std::string& what) try {
    execute_in_tries(session_, with_row_format(statement), patience_, progress_);
    changed_ = changed_ || may_change(statement);
  } catch (const LockTimeout&) {
    throw MigrationError(what + " was not applied: other connections kept its table locked. " +
                         (changed_ ? "Earlier changes stay; the statement that failed changed nothing"
                                   : "Nothing was changed") +
                         ". Once the table is free, `apientidades-admin db migrate` goes on");
  }

  /// When an earlier run of a migration is killed, the server still completes the last statement of that run.
  /// If this run sends the same statement, the statement waits for the earlier one. Then it fails: the
  /// migration's SQL checks first whether the change is missing, and the earlier statement made the change
  /// after that check. So the migration is executed a second time.
  void apply(const MigrationGuard& guard, const Migration& migration) {
    progress_(migration.name);
    try {
      execute_all(guard, migration);
    } catch (const DatabaseError& error) {
      if (!is_done_already(error)) throw;
      execute_all(guard, migration);
    }
    require_held(session_, guard);
    session_.update("INSERT INTO migraciones (numero, nombre, huella) VALUES (?, ?, ?)", migration.number,
                    migration.name, fingerprint(migration));
  }

  /// Creating the migrations' own tables does not count as a change.
  void prepare() {
    for (const auto statement : create_tables) execute(statement, "The first migration");
    changed_ = false;
  }

 private:
  void execute_all(const MigrationGuard& guard, const Migration& migration) {
    for (const auto& statement : split_statements(migration.sql)) {
      require_held(session_, guard);
      execute(statement, migration.name);
    }
  }

  Session& session_;
  const Patience& patience_;
  const Progress& progress_;
  bool changed_ = false;
};

Migration read_migration(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.size() <= 5 || !text::has_shape(name.substr(0, 5), "0000_"))
    throw MigrationError(path.string() + ": a migration is named NNNN_name.sql");
  return {std::stoi(name.substr(0, 4)), name, platform::read_file(path.string())};
}

/// The length of the quoted text, comment or single character that starts at `at`.
std::size_t token_length(std::string_view sql, std::size_t at) {
  const auto until = [&](std::string_view end, std::size_t from) {
    const auto found = sql.find(end, from);
    return (found == std::string_view::npos ? sql.size() : found + end.size()) - at;
  };
  const char c = sql[at];
  if (sql.substr(at, 3) == "-- ") return until("\n", at);
  if (sql.substr(at, 2) == "/*") return until("*/", at + 2);
  if (c == '\'' || c == '"' || c == '`') return until(std::string_view(&c, 1), at + 1);
  return 1;
}

}  // namespace

std::vector<std::string> split_statements(std::string_view sql) {
  std::vector<std::string> result;
  std::string statement;
  const auto finish = [&] {
    if (const auto text = text::trim(statement); !text.empty()) result.emplace_back(text);
    statement.clear();
  };
  for (std::size_t at = 0; at < sql.size();) {
    const auto length = token_length(sql, at);
    const auto token = sql.substr(at, length);
    const bool comment = token.starts_with("-- ") || token.starts_with("/*");
    if (token == ";") {
      finish();
    } else if (!comment) {
      statement += token;
    }
    at += length;
  }
  finish();
  return result;
}

std::vector<Migration> read_migrations(const std::string& folder) {
  std::error_code error;
  std::vector<Migration> result;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".sql") result.push_back(read_migration(entry.path()));
  }
  if (error) throw MigrationError(folder + ": " + error.message());
  std::ranges::sort(result, {}, &Migration::number);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].number != static_cast<int>(i) + 1)
      throw MigrationError(folder + ": migration " + std::to_string(i + 1) + " is missing or repeated");
  }
  if (result.empty()) throw MigrationError(folder + ": no migrations (NNNN_name.sql) here");
  return result;
}

std::vector<MigrationState> migration_status(Session& session, const std::vector<Migration>& migrations) {
  const bool known = table_exists(session);
  std::vector<MigrationState> result;
  for (const auto& migration : migrations) {
    MigrationState state{migration.number, migration.name, {}};
    if (known && is_applied(session, migration)) {
      state.applied =
          session
              .query("SELECT CAST(aplicada_en AS CHAR) AS aplicada_en FROM migraciones WHERE numero = ?",
                     migration.number)
              .at(0)
              .time("aplicada_en");
    }
    result.push_back(std::move(state));
  }
  return result;
}

std::vector<std::string> migrate(Session& session, const std::vector<Migration>& migrations,
                                 Session& guard_session,
                                 const std::function<void(const std::string&)>& progress,
                                 const MigrationTimes& times) {
  Runner runner(session, times.patience, progress);
  runner.prepare();
  MigrationGuard guard(guard_session, times.silence);
  for (bool told = false; !guard.take(); std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
    if (!std::exchange(told, true)) progress("waiting for another migration to end");
  }
  std::vector<std::string> applied;
  for (const auto& migration : migrations) {
    if (is_applied(session, migration)) continue;
    runner.apply(guard, migration);
    applied.push_back(migration.name);
  }
  return applied;
}

}  // namespace store
