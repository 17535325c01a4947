#include "admin/recorded.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "lib/platform/log.hpp"
#include "lib/store/audit/audit.hpp"
#include "lib/store/contacts/contacts.hpp"
#include "lib/text/text.hpp"

namespace admin {

namespace {

constexpr std::size_t longest_name = 100;

std::optional<std::string> name_of_user(uid_t uid) {
  const passwd* const found = ::getpwuid(uid);
  return found == nullptr ? std::nullopt : std::optional<std::string>(found->pw_name);
}

/// The user of the login session, also after su or sudo (pam_loginuid(8)).
std::optional<uid_t> login_uid() {
  std::ifstream file("/proc/self/loginuid");
  std::uint32_t uid = 0;
  constexpr auto unset = static_cast<std::uint32_t>(-1);
  if (!(file >> uid) || uid == unset) return std::nullopt;
  return uid;
}

std::optional<std::string> variable(const std::vector<std::string>& environment, std::string_view name) {
  const auto prefix = std::string(name) + '=';
  for (const auto& text : environment) {
    if (text.starts_with(prefix) && text.size() > prefix.size()) return text.substr(prefix.size());
  }
  return std::nullopt;
}

/// Reduces text from the environment to visible ASCII without our field separators.
std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c <= ' ' || c >= '\x7f' || c == '=' || c == '"' || c == '\\'; });
  return text.substr(0, longest_name);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "-";
}

std::optional<std::int64_t> number_of(const json::Value& row, std::string_view name) {
  const auto* value = row.object() == nullptr ? nullptr : row.find(name);
  return value == nullptr ? std::nullopt : value->integer();
}

/// The action and its object, from the command line, and from the result if the command has run.
store::OperatorAction action_of(const Command& command, const Arguments& arguments, const Result& result,
                                const std::string& who) {
  const auto group = group_of(command);
  auto id = arguments.id("id");
  if (!id) id = number_of(result.value, "id");
  store::OperatorAction action{who, std::string(command.words), std::string(group), {}, {}, {}};
  if (id) action.object += ' ' + std::to_string(*id);
  action.entity = group == "entity" ? id : number_of(result.value, "entidad_id");
  if (!action.entity && command.has_option("entity")) action.entity = arguments.id("entity");
  action.webhook = group == "webhook" ? id : number_of(result.value, "webhook_id");
  if (!action.webhook && command.has_option("webhook")) action.webhook = arguments.id("webhook");
  json::Object typed;
  const auto number = number_of(result.value, "numero").value_or(0);
  for (const auto& [name, value] : arguments.values())
    typed.emplace_back(name, name == "address" ? store::audited_contact(number, value) : value);
  action.detail = json::dump(std::move(typed));
  return action;
}

void write_line(platform::LogLevel level, const store::OperatorAction& action, std::string_view ending,
                std::string_view error = {}) {
  const auto space = action.object.find(' ');
  const auto number = [](const auto& id) { return id ? to_string(*id) : "-"; };
  platform::write_to_journal(level, action.action + std::string(ending),
                             {{"id", space == std::string::npos ? "-" : action.object.substr(space + 1)},
                              {"entity", number(action.entity)},
                              {"webhook", number(action.webhook)},
                              {"operator", action.who},
                              {"arguments", action.detail},
                              {"error", error}});
}

/// Whether the error means that the schema is too old to have the audit. Commands must work even without the
/// audit, for example to revoke a token or to pause sending.
bool lacks_migration(const store::DatabaseError& error) {
  constexpr int unknown_column = 1054;
  constexpr int unknown_table = 1146;
  return error.code == unknown_column || error.code == unknown_table;
}

void record(store::Session& session, const store::OperatorAction& action) {
  try {
    store::note_operator_action(session, action);
  } catch (const store::DatabaseError& error) {
    if (!lacks_migration(error)) throw;
    return write_line(platform::LogLevel::warning, action, " is not in the audit", error.what());
  }
  write_line(platform::LogLevel::info, action, "");
}

/// Adds an entry for the failure of a command that was recorded before it ran.
void record_failure(store::Session& session, store::OperatorAction action, const std::string& error) {
  write_line(platform::LogLevel::warning, action, " failed", error);
  try {
    action.action += " failed";
    store::note_operator_action(session, action);
  } catch (const store::DatabaseError&) {  // the journal has the entry
  }
}

/// Runs and records the command in one transaction. Writes the journal's line before the commit, so that no
/// change lacks a line; a failed commit adds another line.
Result run_in_transaction(const Command& command, Context& context, const Arguments& arguments,
                          const std::string& who) {
  std::optional<store::OperatorAction> recorded;
  try {
    return store::transaction(context.session, [&] {
      auto result = command.run(context, arguments);
      recorded = action_of(command, arguments, result, who);
      record(context.session, *recorded);
      return result;
    });
  } catch (const std::exception& error) {
    if (recorded) write_line(platform::LogLevel::warning, *recorded, " failed", error.what());
    throw;
  }
}

Result run_after_record(const Command& command, Context& context, const Arguments& arguments,
                        const std::string& who) {
  const auto action = action_of(command, arguments, {}, who);
  record(context.session, action);
  try {
    return command.run(context, arguments);
  } catch (const std::exception& error) {
    record_failure(context.session, action, error.what());
    throw;
  }
}

}  // namespace

std::string describe_operator(const std::vector<std::string>& environment) {
  const auto uid = ::getuid();
  auto name = variable(environment, "SUDO_USER");
  if (!name) name = name_of_user(login_uid().value_or(uid));
  return plain(name.value_or("-")) + " uid=" + std::to_string(uid) + " host=" + plain(host_name());
}

Result run_recorded(const Command& command, Context& context, const Arguments& arguments,
                    const std::string& who) {
  switch (recorded_as(command, arguments)) {
    case Recorded::in_transaction:
      return run_in_transaction(command, context, arguments, who);
    case Recorded::before:
      return run_after_record(command, context, arguments, who);
    case Recorded::after: {
      auto result = command.run(context, arguments);
      record(context.session, action_of(command, arguments, result, who));
      return result;
    }
    case Recorded::undeclared:
    case Recorded::never:
      break;
  }
  return command.run(context, arguments);
}

}  // namespace admin
