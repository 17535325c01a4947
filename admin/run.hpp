// The program without main: from arguments to an exit status.
#pragma once

#include <string>
#include <vector>

#include "admin/command.hpp"

namespace admin {

/// The command that a command line names, and the words that follow. find_command throws UsageError when
/// there is no such command; the error suggests a similar one, if any.
struct Request {
  const Command& command;
  std::vector<std::string> words;
};
Request find_command(const std::vector<std::string>& words);

/// Runs a command line: `arguments` without the program's name, `environment` as NAME=VALUE texts. Throws
/// nothing: every exception is one line on `output.err` and exit status 1 or 2. `--json` on the line sets
/// output.json.
int run(const std::vector<std::string>& arguments, Output output,
        const std::vector<std::string>& environment);

}  // namespace admin
