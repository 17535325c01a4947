// What each program checks when it starts. `config check` checks the same for all of them.
#pragma once

#include <string>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/session/session.hpp"

namespace store {

enum class Program { api, dispatcher, notices, admin };

/// The program's user of the database, unless database.user names another.
std::string database_user(Program program);

/// `text` is one line, which begins with the key.
struct StartProblem {
  std::string key;
  std::string text;
};

/// The problems of the keys and certificates that the program reads. The program's sessions check its
/// password's file.
std::vector<StartProblem> file_problems(Program program, const config::Settings& settings);

/// Throws config::ConfigError with all problems of file_problems().
void require_files(Program program, const config::Settings& settings);

/// Throws a DatabaseError when the database is unavailable, refuses the user, lacks what the program reads
/// first, or fails the requirements (lib/store/session/requirements.hpp). Returns the warnings.
std::vector<std::string> require_database(Program program, Session& session);
/// As above; logs the warnings. For the `check` of wait_for_database.
void require_database(Program program, Session& session, const platform::Log& log);

/// Throws if the program could not start with the settings now, also if the database is away: a program that
/// drains without it gives up results.
void require_start(Program program, const config::Settings& settings);

}  // namespace store
