// Records the operator's commands: as a row of the audit, in the command's transaction if it has one, and as
// a line in the journal, outside the database.
#pragma once

#include <string>
#include <vector>

#include "admin/command.hpp"

namespace admin {

/// Returns who runs the program: `ana uid=0 host=db1`. The name is that of sudo's caller, else of the
/// login session's user, else of the process's user; `-` if that user has none.
std::string describe_operator(const std::vector<std::string>& environment);

/// Runs the command, records it as Command::recorded says, and returns its result.
Result run_recorded(const Command& command, Context& context, const Arguments& arguments,
                    const std::string& who);

}  // namespace admin
