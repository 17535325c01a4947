// config show|check

#include <algorithm>
#include <filesystem>
#include <set>

#include "admin/commands.hpp"
#include "admin/output/config_notes.hpp"
#include "lib/platform/file.hpp"
#include "lib/platform/interfaces.hpp"
#include "lib/store/session/requirements.hpp"
#include "lib/webhook/authorities.hpp"
#include "lib/webhook/key_file.hpp"

namespace admin {

namespace {

/// Formats `key=value  # source`, with most sources aligned.
std::string show_line(const platform::KeyValue& key) {
  constexpr std::size_t source_column = 60;  // a longer `key=value` does not move the column
  std::string line = key.name + "=" + key.value;
  line.resize(std::max(source_column, line.size()), ' ');
  return line + "  # " + key.source + '\n';
}

Result show(Context& context, const Arguments&) {
  json::Array rows;
  std::string text;
  for (const auto& key : context.config.values) {
    rows.push_back(json::Object{{"clave", key.name}, {"valor", key.value}, {"origen", key.source}});
    text += show_line(key);
  }
  return {std::move(rows), text};
}

struct Problem {
  std::string key;
  std::string text;
};

template <class F>
void check(std::vector<Problem>& problems, const std::string& key, F read) {
  try {
    read();
  } catch (const std::exception& e) {
    std::string text = e.what();
    // Some readers already name the key.
    if (!text.starts_with(key)) text.insert(0, key + ": ");
    problems.push_back({key, text});
  }
}

/// The files of the three programs' passwords, by default those that this user can read.
std::set<std::string> password_files(const platform::DatabaseSettings& settings) {
  std::set<std::string> files;
  for (const auto* user : {"apientidades_api", "apientidades_dispatcher", "apientidades_admin"})
    files.insert(store::password_file(settings, user));
  files.erase("");
  return files;
}

std::vector<Problem> problems_of(const platform::Settings& settings) {
  std::vector<Problem> problems;
  for (const auto& path : password_files(settings.database))
    check(problems, "database.password_file", [&] { store::read_password(path); });
  if (const auto& path = settings.database.tls_ca; !path.empty())
    check(problems, "database.tls_ca", [&] { webhook::require_authorities("database.tls_ca", path); });
  check(problems, "secrets.key_file", [&] { webhook::read_key_file(settings.secrets.key_file); });
  check(problems, "delivery.ca_file", [&] {
    webhook::require_authorities("delivery.ca_file", webhook::receivers_ca_file(settings.delivery));
  });
  return problems;
}

/// What the operator should change in nginx.conf, where this host has the site; empty if nothing, or if it
/// cannot be read.
std::string note_of_nginx() try {
  if (!std::filesystem::exists("/etc/nginx/sites-enabled/apientidades.conf")) return {};
  return nginx_connections_note(platform::read_file("/etc/nginx/nginx.conf"));
} catch (const std::exception&) {
  return {};
}

/// Returns the problems of the database server that keep the programs from working. Sets `note` to a problem
/// with which the programs still work (a difference of the clocks), or to the reason why the server could not
/// be asked (this user may not read the password, or the server does not answer).
std::vector<Problem> problems_of_server(store::Session& session, std::string& note) {
  std::vector<Problem> problems;
  try {
    for (const auto& [text, stops] : store::look_at_server(session)) {
      if (stops)
        problems.push_back({"database", "database: " + text});
      else
        note = "database: " + text;
    }
  } catch (const std::exception& e) {
    note = std::string("the database server was not checked: ") + e.what();
  }
  return problems;
}

Result check(Context& context, const Arguments&) {
  auto problems = problems_of(context.config.settings);
  json::Array rows;
  Result result;
  const bool of_server = problems.empty();
  if (of_server) problems = problems_of_server(context.session, result.note);
  for (const auto& problem : problems) {
    rows.push_back(json::Object{{"clave", problem.key}, {"error", problem.text}});
    result.problems.push_back(problem.text);
  }
  result.value = problems.empty() || context.output.json ? json::Value(std::move(rows)) : nullptr;
  if (problems.empty())
    result.text = "The configuration is good: " + std::to_string(context.config.values.size()) +
                  " keys; this user can read the passwords, keys and certificates." +
                  (result.note.empty() ? " The database server is as it must be." : "");
  else
    result.status = of_server ? platform::exit_failed : platform::exit_usage;
  const auto& delivery = context.config.settings.delivery;
  for (const auto& note :
       {note_of_nginx(), denied_networks_note(delivery, platform::interface_addresses())}) {
    if (!note.empty()) result.note += (result.note.empty() ? "" : "; ") + note;
  }
  return result;
}

}  // namespace

std::vector<Command> config_commands() {
  return {
      {.words = "config show",
       .summary = "Show every key, its value and the source of the value",
       .details = "Later sources win: default, the file, the environment (APIENTIDADES_<SECTION>_<KEY>), the "
                  "command\n"
                  "line. Secrets are in files of their own: only their paths are shown.",
       .example = "apientidades-admin config show --config /etc/apientidades/apientidades.conf",
       .recorded = Recorded::never,
       .run = show,
       .needs_password = false},
      {.words = "config check",
       .summary = "Check every key, the passwords, keys and certificates, and the database server",
       .details = "To see what a program may read, run this as that program's user.\n"
                  "It checks the server's version, settings and clock, that the server accepts writes, that\n"
                  "nginx has connections enough, and that a host with a public address lists\n"
                  "delivery.denied_networks.\n"
                  "Exit status 2: the configuration is wrong; 1: the server is. A server that cannot "
                  "be asked is only reported.",
       .example = "apientidades-admin config check",
       .recorded = Recorded::never,
       .run = check,
       .needs_password = false},
  };
}

}  // namespace admin
