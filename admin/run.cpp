#include "admin/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/command_line.hpp"
#include "admin/input/usage.hpp"
#include "admin/recorded.hpp"
#include "lib/platform/file.hpp"
#include "lib/text/suggestion.hpp"

namespace admin {

namespace {

using program::exit_done;
using program::exit_failed;
using program::exit_usage;

/// Long enough for the lists of a big database. A statement to a silent server fails after this time.
constexpr int read_timeout_s = 60;

bool is_group(const std::string& word) {
  return std::ranges::any_of(all_commands(), [&](const auto& command) {
    return group_of(command) == word && command.words != word;
  });
}

/// The words before the first option.
std::vector<std::string> leading_words(const std::vector<std::string>& words) {
  const auto end = std::ranges::find_if(words, [](const auto& word) { return word.starts_with("-"); });
  return {words.begin(), end};
}

std::string unknown_command(const std::vector<std::string>& words) {
  const auto typed = leading_words(words);
  std::string phrase = typed.empty() ? words.front() : typed.front();
  std::vector<std::string> known;
  for (const auto& command : all_commands()) {
    known.emplace_back(command.words);
    known.emplace_back(group_of(command));
  }
  // The second word may belong to the command, or be an id.
  const auto one = text::nearest(phrase, known);
  if (typed.size() > 1) phrase += " " + typed[1];
  const auto two = text::nearest(phrase, known);
  const auto& near = two ? two : one;
  return "unknown command '" + phrase +
         "': " + (near ? "did you mean '" + *near + "'?" : "apientidades-admin --help lists them");
}

int run_command(const Request& request, const CommandLine& line, const std::vector<std::string>& environment,
                const Output& output) {
  Arguments arguments;
  try {
    arguments = parse_options(request.command.options, request.words);
  } catch (const UsageError& e) {
    throw UsageError(std::string(e.what()) + " (apientidades-admin " + std::string(request.command.words) +
                     " --help)");
  }
  const auto config = config::load_config(line.settings, line.config_file, environment);
  store::Session session(config.settings.database,
                         {.program_user = std::string(database_user),
                          .read_timeout_s = read_timeout_s,
                          .failover_s = read_timeout_s,
                          .read_only = recorded_as(request.command, arguments) == Recorded::never,
                          .needs_password = request.command.needs_password});
  Context context{config, session, output};
  const auto result = run_recorded(request.command, context, arguments, describe_operator(environment));
  print(output, result);
  return result.status;
}

/// The help of the command or the group that the words name; without words, the program's help.
std::string usage_for(const std::vector<std::string>& words) {
  const auto leading = leading_words(words);
  if (leading.empty()) return program_usage();
  if (leading.size() == 1 && is_group(leading.front())) return group_usage(leading.front());
  return command_usage(find_command(words).command);
}

int run_line(const CommandLine& line, const std::vector<std::string>& environment, const Output& output) {
  if (line.version) {
    output.out << program_name << " " << APIENTIDADES_VERSION << '\n';
    return exit_done;
  }
  if (line.help) {
    output.out << usage_for(line.words);
    return exit_done;
  }
  const auto leading = leading_words(line.words);
  const bool only_a_group = leading.size() == 1 && is_group(leading.front());
  if (line.words.empty() || only_a_group) {
    output.err << usage_for(line.words);
    return exit_usage;
  }
  return run_command(find_command(line.words), line, environment, output);
}

int failed(const Output& output, const std::string& message, int status) {
  complain(output, message);
  return status;
}

int unwritten(const Output& output) {
  program::end_if_broken_pipe(STDOUT_FILENO);  // ends quietly for `… | head`
  return failed(output, "standard output could not be written", exit_failed);
}

}  // namespace

Request find_command(const std::vector<std::string>& words) {
  for (const auto& command : all_commands()) {
    std::string typed;
    for (auto word = words.begin(); word != words.end() && typed.size() < command.words.size(); ++word) {
      typed += (typed.empty() ? "" : " ") + *word;
      if (typed == command.words) return {command, {word + 1, words.end()}};
    }
  }
  throw UsageError(unknown_command(words));
}

int run(const std::vector<std::string>& arguments, Output output,
        const std::vector<std::string>& environment) {
  try {
    auto line = split_command_line(arguments);
    output.json = line.json;
    if (!line.words.empty() && line.words.front() == "help") {
      line.words.erase(line.words.begin());
      line.help = true;
    }
    const int status = run_line(line, environment, output);
    if (!output.out.flush()) return unwritten(output);
    return status;
  } catch (const UsageError& e) {
    return failed(output, e.what(), exit_usage);
  } catch (const config::ConfigError& e) {
    return failed(output, e.what(), exit_usage);
  } catch (const platform::FileError& e) {
    return failed(output, e.what(), exit_usage);
  } catch (const store::Unavailable& e) {
    return failed(output, "database unavailable: " + std::string(e.what()), exit_failed);
  } catch (const std::exception& e) {
    return failed(output, e.what(), exit_failed);
  }
}

}  // namespace admin
