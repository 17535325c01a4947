#include "lib/store/programs.hpp"

#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/schema/version.hpp"
#include "lib/store/session/requirements.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "lib/webhook/authorities.hpp"
#include "lib/webhook/key_file.hpp"

namespace store {

std::string database_user(Program program) {
  switch (program) {
    case Program::api:
      return "apientidades_api";
    case Program::dispatcher:
      return "apientidades_dispatcher";
    case Program::notices:
      return "apientidades_notices";
    case Program::admin:
      break;
  }
  return "apientidades_admin";
}

std::vector<StartProblem> file_problems(Program program, const config::Settings& settings) {
  std::vector<StartProblem> problems;
  const auto check = [&](const std::string& key, auto read) {
    try {
      read(key);
    } catch (const config::ConfigError& error) {
      problems.push_back({key, error.what()});
    }
  };
  if (const auto& path = settings.database.tls_ca; !path.empty())
    check("database.tls_ca", [&](const auto& key) { webhook::require_authorities(key, path); });
  check("secrets.key_file", [&](const auto&) { webhook::read_key_file(settings.secrets.key_file); });
  if (program == Program::dispatcher)
    check("delivery.ca_file", [&](const auto& key) {
      webhook::require_authorities(key, webhook::receivers_ca_file(settings.delivery));
    });
  return problems;
}

void require_files(Program program, const config::Settings& settings) {
  std::string all;
  for (const auto& problem : file_problems(program, settings))
    all += (all.empty() ? "" : "; ") + problem.text;
  if (!all.empty()) throw config::ConfigError(all);
}

void require_start(Program program, const config::Settings& settings) {
  require_files(program, settings);
  Session session(settings.database, {.program_user = database_user(program)});
  require_database(program, session);
}

std::vector<std::string> require_database(Program program, Session& session) {
  session.connect();
  if (program == Program::api) find_caller(session, {});  // no token has this hash
  if (program == Program::dispatcher) peek_queue(session);
  if (program != Program::api) require_migrations(session);
  return require_server(session);
}

void require_database(Program program, Session& session, const platform::Log& log) {
  for (const auto& warning : require_database(program, session))
    log.warning("database server", {{"warning", warning}});
}

}  // namespace store
