// How far the schema is, beside what this program knows.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Whether the database has a migration that this version of the program does not know: a newer version works
/// beside it, or did (docs/operations.md#upgrade). Without the right to look it is taken for newer: who
/// cannot tell must not reject what a newer version understands.
bool schema_is_newer(Session& session);

}  // namespace store
