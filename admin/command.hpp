// A command as a row of a table, and the values that go in and come out of it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/options.hpp"
#include "admin/output.hpp"
#include "lib/platform/config.hpp"
#include "lib/store/session/session.hpp"

namespace admin {

/// What a command works with. The session connects at its first use, so commands without SQL need no server.
struct Context {
  const platform::Config& config;
  store::Session& session;
  const Output& output;  // for what is told while it runs; the result is returned
};

/// The user that the database knows this program by, unless `database.user` says otherwise.
inline constexpr std::string_view program_name = "apientidades-admin";
inline constexpr std::string_view database_user = "apientidades_admin";

/// When a run of a command is written into the audit (recorded.hpp).
enum class Recorded {
  undeclared,      // a mistake: a test finds it
  never,           // it changes nothing, and its session may not
  in_transaction,  // of the change, which is one
  before,          // what is done in batches, or must not wait
  after,           // what makes the audit's table
};

struct Command {
  std::string_view words;         // "token issue"
  std::string_view summary;       // one line, for the list of commands
  std::string_view details = {};  // what else is worth knowing; may have several lines
  OptionTable options = {};
  std::string_view example;  // a whole line that works as it is
  Recorded recorded = Recorded::undeclared;
  Result (*run)(Context&, const Arguments&) = nullptr;

  bool has_option(std::string_view name) const {
    return std::ranges::find(options.options, name, &Option::name) != options.options.end();
  }
};

/// "token" of "token issue".
inline std::string_view group_of(const Command& command) {
  return command.words.substr(0, command.words.find(' '));
}

}  // namespace admin
