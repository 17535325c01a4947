// The triggers of sql/grants/triggers.sql, which let only the server assign the ids of notifications. A tool
// that copies the table to change it, or a restore, may lose or alter them.
#pragma once

#include <string>

#include "lib/store/session/session.hpp"

namespace store {

/// Returns what is wrong with the triggers, in one line, or an empty text. Throws DatabaseError.
std::string id_triggers_note(Session& session);

}  // namespace store
