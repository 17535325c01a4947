// config show|diff|check

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "admin/commands.hpp"
#include "admin/output/config_notes.hpp"
#include "admin/output/connections_note.hpp"
#include "admin/output/shifted_times_note.hpp"
#include "admin/running.hpp"
#include "admin/units.hpp"
#include "lib/platform/file.hpp"
#include "lib/platform/interfaces.hpp"
#include "lib/store/programs.hpp"
#include "lib/store/schema/id_triggers.hpp"

namespace admin {

namespace {

Result show(Context& context, const Arguments& arguments) {
  if (arguments.has("running")) return show_running();
  json::Array rows;
  std::string text;
  for (const auto& key : context.config.values) {
    rows.push_back(json::Object{{"clave", key.name}, {"valor", key.value}, {"origen", key.source}});
    text += show_line(key);
  }
  return {std::move(rows), text};
}

bool is_of_units(const config::Config& config) { return config.file == config::default_config_path; }

/// What the units read: they do not have this user's environment.
config::Config config_of_units() { return config::load_config({}, std::nullopt, {}); }

Result diff(Context& context, const Arguments&) {
  return diff_running(is_of_units(context.config) ? config_of_units() : context.config);
}

/// Collects what `config check` finds.
class Findings {
 public:
  /// Keeps a problem of several programs once; a later text may only add who has it, too.
  void add(const store::StartProblem& problem, int status) {
    auto& texts = result_.problems;
    if (std::ranges::any_of(texts, [&](const auto& text) { return problem.text.starts_with(text); })) return;
    texts.push_back(problem.text);
    rows_.push_back(json::Object{{"clave", problem.key}, {"error", problem.text}});
    result_.status = std::max(result_.status, status);
  }
  /// `text`: empty if there is nothing to note.
  void note(const std::string& text) {
    auto& note = result_.note;
    if (note.find(text) == std::string::npos) note += (note.empty() ? "" : "; ") + text;
  }
  bool noted() const { return !result_.note.empty(); }
  bool good() const { return rows_.empty(); }
  /// `text` is printed when there is no problem.
  Result result(bool json, const std::string& text) && {
    if (good()) result_.text = text;
    if (good() || json) result_.value = std::move(rows_);
    return std::move(result_);
  }

 private:
  json::Array rows_;
  Result result_;
};

/// Connects as the program does, with its own user and password.
void check_account(Findings& findings, store::Program program, config::DatabaseSettings settings,
                   bool of_unit) {
  const auto user = store::database_user(program);
  settings.password_file = store::password_file(settings, user);
  if (settings.password_file.empty() && of_unit)
    settings.password_file = store::installed_password_file(user);
  try {
    store::Session session(settings, {.program_user = user});
    for (const auto& warning : store::require_database(program, session))
      findings.note("database: " + warning);
    if (program == store::Program::admin) findings.note(store::id_triggers_note(session));
  } catch (const platform::FileError& error) {
    findings.add({"database.password_file", error.what()}, program::exit_usage);
  } catch (const std::exception& error) {
    findings.add({"database", std::string("database: ") + error.what()}, program::exit_failed);
  }
}

/// The dispatcher does not start without its source addresses.
void check_source_addresses(Findings& findings, const config::DeliverySettings& settings) {
  const auto own = platform::interface_addresses();
  for (const auto& source : settings.source_addresses) {
    if (source.bound && std::ranges::find(own, source.network.base) == own.end())
      findings.add({"delivery.source_addresses", "delivery.source_addresses: this host has no address " +
                                                     source.network.base.to_string() + " (ip address)"},
                   program::exit_failed);
  }
}

/// What the operator should change in nginx.conf, where this host has the site; empty if nothing, or if it
/// cannot be read.
std::string note_of_nginx() try {
  if (!std::filesystem::exists("/etc/nginx/sites-enabled/apientidades.conf")) return {};
  return nginx_connections_note(platform::read_file("/etc/nginx/nginx.conf"));
} catch (const std::exception&) {
  return {};
}

/// Empty if the server does not tell.
std::string note_of_connections(Context& context) try {
  const auto allowed = context.session.query("SELECT @@GLOBAL.max_connections AS n").at(0).integer("n");
  return connections_note(context.config.settings,
                          handler_processes("/etc/systemd/system/apientidades.target.wants"), allowed);
} catch (const std::exception&) {
  return {};
}

/// Empty if the tables are of an earlier release.
std::string note_of_times(Context& context) try {
  return shifted_times_note(store::find_shifted_times(context.session));
} catch (const store::DatabaseError&) {
  return {};
}

Result check(Context& context, const Arguments&) {
  using enum store::Program;
  const bool of_units = is_of_units(context.config);
  const auto settings = of_units ? config_of_units().settings : context.config.settings;
  Findings findings;
  if (of_units && ::geteuid() != 0) {
    findings.add({"database",
                  "the keys are good, but only root may check the rest (what the units' users can "
                  "read, the passwords, the database): sudo apientidades-admin config check"},
                 program::exit_failed);
  } else {
    // Without mail.server, notices runs without the database.
    for (const auto program : {api, dispatcher, notices, admin})
      if (program != notices || !settings.mail.server.empty())
        check_account(findings, program, settings.database, of_units);
    for (const auto& problem : store::file_problems(dispatcher, settings))
      findings.add(problem, program::exit_usage);
    if (of_units) {
      for (const auto& problem : problems_of_units(settings)) findings.add(problem, program::exit_usage);
      check_source_addresses(findings, settings.delivery);
    }
  }
  const std::string of_server = findings.noted() ? "" : " The database server is as it must be.";
  if (!of_units && findings.good())
    findings.note("what the units can read was not checked, because they read " +
                  std::string(config::default_config_path));
  findings.note(note_of_nginx());
  if (findings.good()) {
    findings.note(note_of_connections(context));
    findings.note(note_of_times(context));
    findings.note(mail_note(settings.mail));
  }
  findings.note(sandbox_note(settings.delivery));
  findings.note(denied_networks_note(settings.delivery, platform::interface_addresses()));
  return std::move(findings).result(
      context.output.json, "The configuration is good: " + std::to_string(context.config.values.size()) +
                               " keys; the programs can read their passwords, keys and certificates, and "
                               "connect." +
                               of_server);
}

}  // namespace

std::vector<Command> config_commands() {
  return {
      {.words = "config show",
       .summary = "Show every key, its value and the source of the value",
       .details = "Later sources win: default, the file, the environment (APIENTIDADES_<SECTION>_<KEY>), the "
                  "command\n"
                  "line. Secrets are in files of their own: only their paths are shown.",
       .options = {.options = {{"running", "", "what each running process of this host has in force"}}},
       .example = "apientidades-admin config show --config /etc/apientidades/apientidades.conf",
       .recorded = Recorded::never,
       .run = show,
       .needs_password = false},
      {.words = "config diff",
       .summary = "Compare what the running processes have in force with the file",
       .details = "Run it as root, on each host. A key that a process has from its environment or its "
                  "command line is not\n"
                  "compared. `systemctl reload` makes a process take the file. Exit status 1: there are "
                  "differences, or no\n"
                  "process runs.",
       .example = "apientidades-admin config diff",
       .recorded = Recorded::never,
       .run = diff,
       .needs_password = false},
      {.words = "config check",
       .summary = "Check every key, what the programs can read, their accounts, and the database server",
       .details =
           "Run it as root: it then reads each file as the user of the unit that needs it, and connects "
           "as each\n"
           "program, with that program's password. A file with keys or a password that every user may "
           "read is an\n"
           "error. It checks the server's version, settings, tables and clock, that the server accepts "
           "writes, that\n"
           "it and nginx have connections enough, that a host with a public address lists\n"
           "delivery.denied_networks, and that the evaluation system writes no times that are whole hours "
           "off.\n"
           "With --config FILE it checks only what this user's process can read.\n"
           "Exit status 0: the programs can start. 2: the configuration or a file is wrong. 1: the "
           "server is, or could\n"
           "not be checked.",
       .example = "apientidades-admin config check",
       .recorded = Recorded::never,
       .run = check,
       .needs_password = false},
  };
}

}  // namespace admin
