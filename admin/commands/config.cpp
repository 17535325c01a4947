// config show|check

#include <algorithm>

#include "admin/commands.hpp"
#include "platform/file.hpp"
#include "webhook/key_file.hpp"

namespace admin {

namespace {

/// `key=value  # source`, the sources of most lines aligned.
std::string show_line(const platform::KeyValue& key) {
  constexpr std::size_t source_column = 60;  // long lists of networks must not push every source to the right
  std::string line = key.name + "=" + key.value;
  line.resize(std::max(source_column, line.size()), ' ');
  return line + "  # " + key.source + '\n';
}

Result show(Context& context, const Arguments&) {
  webhook::json::Array rows;
  std::string text;
  for (const auto& key : context.config.values) {
    rows.push_back(webhook::json::Object{{"clave", key.name}, {"valor", key.value}, {"origen", key.source}});
    text += show_line(key);
  }
  return {std::move(rows), text};
}

struct Problem {
  std::string key;
  std::string text;
};

/// Adds a problem when `read` throws.
template <class F>
void check(std::vector<Problem>& problems, const std::string& key, F read) {
  try {
    read();
  } catch (const std::exception& e) {
    std::string text = e.what();
    // Some readers name the key themselves.
    if (!text.starts_with(key)) text.insert(0, key + ": ");
    problems.push_back({key, text});
  }
}

std::vector<Problem> problems_of(const platform::Settings& settings) {
  std::vector<Problem> problems;
  if (const auto& path = settings.database.password_file; !path.empty())
    check(problems, "database.password_file", [&] { platform::read_secret_file(path); });
  if (const auto& path = settings.database.tls_ca; !path.empty())
    check(problems, "database.tls_ca", [&] { platform::require_certificates("database.tls_ca", path); });
  check(problems, "secrets.key_file", [&] { webhook::read_key_file(settings.secrets.key_file); });
  if (const auto& path = settings.delivery.ca_file; !path.empty())
    check(problems, "delivery.ca_file", [&] { platform::require_certificates("delivery.ca_file", path); });
  return problems;
}

Result check(Context& context, const Arguments&) {
  const auto problems = problems_of(context.config.settings);
  webhook::json::Array rows;
  Result result;
  for (const auto& problem : problems) {
    rows.push_back(webhook::json::Object{{"clave", problem.key}, {"error", problem.text}});
    result.problems.push_back(problem.text);
  }
  result.value = problems.empty() || context.output.json ? webhook::json::Value(std::move(rows)) : nullptr;
  if (problems.empty())
    result.text = "The configuration is good: " + std::to_string(context.config.values.size()) +
                  " keys, and every file that it names can be read by this user.";
  else
    result.status = platform::exit_usage;
  return result;
}

}  // namespace

std::vector<Command> config_commands() {
  return {
      {.words = "config show",
       .summary = "Show every key, its value and where that comes from",
       .details =
           "Later ones win: default, the file, the environment (APIENTIDADES_<SECTION>_<KEY>), the command\n"
           "line. Secrets are in files of their own: only their paths are shown.",
       .example = "apientidades-admin config show --config /etc/apientidades/apientidades.conf",
       .recorded = Recorded::never,
       .run = show},
      {.words = "config check",
       .summary = "Check every key, and the files that they name",
       .details = "Run it as the user that a program runs as to see what that user may read.",
       .example = "apientidades-admin config check",
       .recorded = Recorded::never,
       .run = check},
  };
}

}  // namespace admin
