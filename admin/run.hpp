// The program, but for main: a line of arguments to an exit status.
#pragma once

#include <string>
#include <vector>

#include "admin/command.hpp"

namespace admin {

/// What a line asks for: the table's row, and the words after the command's own. Throws UsageError with a
/// suggestion when there is no such command.
struct Request {
  const Command& command;
  std::vector<std::string> words;
};
Request find_command(const std::vector<std::string>& words);

/// `arguments` without the program's name; `environment` as NAME=VALUE texts. Throws nothing: whatever goes
/// wrong is one line on `output.err` and an exit status of 1 or 2. `--json` of the line sets output.json.
int run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
        Output output);

}  // namespace admin
