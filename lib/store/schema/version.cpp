#include "lib/store/schema/version.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace store {

namespace {

constexpr int no_right_to_table = 1142;

constexpr std::string_view newer_migration = "SELECT 1 FROM migraciones WHERE numero > ? LIMIT 1";
constexpr std::string_view known_migrations = R"sql(
  SELECT COUNT(*) AS aplicadas FROM migraciones WHERE numero BETWEEN 1 AND ?)sql";

/// Counts the applied migrations among those that this program knows. Returns nullopt if the session's user
/// may not read the table of migrations.
std::optional<std::int64_t> count_applied(Session& session) try {
  return session.query(known_migrations, STORE_KNOWN_MIGRATIONS).at(0).integer("aplicadas");
} catch (const DatabaseError& error) {
  if (error.code == no_right_to_table) return std::nullopt;
  throw;
}

}  // namespace

bool schema_is_newer(Session& session) try {
  return !session.query(newer_migration, STORE_KNOWN_MIGRATIONS).empty();
} catch (const DatabaseError& error) {
  if (error.code == no_right_to_table) return true;
  throw;
}

void require_migrations(Session& session) {
  const auto missing = STORE_KNOWN_MIGRATIONS - count_applied(session).value_or(STORE_KNOWN_MIGRATIONS);
  if (missing > 0)
    throw DatabaseError(
        0, "migrations are missing (" + std::to_string(missing) + "): apientidades-admin db migrate");
}

}  // namespace store
