// A command as a row of the table of commands, with its input and its result.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/input/options.hpp"
#include "admin/output/output.hpp"
#include "lib/config/config.hpp"
#include "lib/store/session/session.hpp"

namespace admin {

/// The input of a command. The session connects at its first use, so commands without SQL need no server.
struct Context {
  const config::Config& config;
  store::Session& session;
  const Output& output;  // for what is printed before the command ends; the result is returned
};

/// The program's name, and its database user unless `database.user` names another.
inline constexpr std::string_view program_name = "apientidades-admin";
inline constexpr std::string_view database_user = "apientidades_admin";

/// When admin/recorded.hpp writes a run of the command to the audit.
enum class Recorded {
  undeclared,      // an error, which a test finds
  never,           // the command changes nothing in the database; its session is read-only
  in_transaction,  // in the command's one transaction
  before,          // before the run, because the command works in batches, or takes effect before it ends
  after,           // after the run, because the command creates the audit's table
};

struct Command {
  std::string_view words;         // "token issue"
  std::string_view summary;       // one line, for the list of commands
  std::string_view details = {};  // further help; may have several lines
  OptionTable options = {};
  std::string_view example;  // a complete command line that works
  Recorded recorded = Recorded::undeclared;
  Result (*run)(Context&, const Arguments&) = nullptr;
  bool needs_password = true;  // false: it runs even if the password of the database cannot be read

  bool has_option(std::string_view name) const {
    return std::ranges::find(options.options, name, &Option::name) != options.options.end();
  }
};

/// A dry run is not recorded, and its session is read-only.
inline Recorded recorded_as(const Command& command, const Arguments& arguments) {
  return arguments.is_dry_run() ? Recorded::never : command.recorded;
}

/// The first word: "token" for "token issue".
inline std::string_view group_of(const Command& command) {
  return command.words.substr(0, command.words.find(' '));
}

}  // namespace admin
