// What the operator does is on record: a row of the audit, in the transaction of the change where it is one,
// and a line in the journal, which is out of the database's reach.
#pragma once

#include <string>
#include <vector>

#include "admin/command.hpp"

namespace admin {

/// Who runs the program: `ana uid=0 host=db1`. The name is that of sudo's caller or of the login, where there
/// is one.
std::string describe_operator(const std::vector<std::string>& environment);

/// What the command gives back, once it is on record as its row of the table says.
Result run_recorded(const Command& command, Context& context, const Arguments& arguments,
                    const std::string& who);

}  // namespace admin
