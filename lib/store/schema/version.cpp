#include "lib/store/schema/version.hpp"

namespace store {

namespace {

constexpr int no_right_to_table = 1142;

constexpr std::string_view newer_migration = "SELECT 1 FROM migraciones WHERE numero > ? LIMIT 1";

}  // namespace

bool schema_is_newer(Session& session) try {
  return !session.query(newer_migration, STORE_KNOWN_MIGRATIONS).empty();
} catch (const DatabaseError& error) {
  if (error.code == no_right_to_table) return true;
  throw;
}

}  // namespace store
