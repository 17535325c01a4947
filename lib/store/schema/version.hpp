// Compares the schema's version with this program's.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Whether the database has a migration that this program does not know: a newer release runs or ran beside
/// this one (docs/operations.md#upgrade). Returns true also if the session has no right to read the
/// migrations, so that this release does not reject what a newer release may understand.
bool schema_is_newer(Session& session);

/// Throws DatabaseError while the database lacks a migration that this program knows: otherwise the
/// dispatcher would send, but could not record results, and so would send deliveries again after each lease.
/// Throws nothing if the session has no right to read the migrations.
void require_migrations(Session& session);

}  // namespace store
