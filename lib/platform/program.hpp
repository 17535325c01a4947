// What the main function of every program does before its own work: --help, --version, --config, the keys.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/platform/config.hpp"

namespace platform {

/// The process's environment as NAME=VALUE texts.
std::vector<std::string> process_environment();

/// The table of keys as --help shows it, wrapped to 100 columns.
std::string describe_keys();

/// Exit statuses of every program.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

/// Standard input, output and error are open from here on: what is opened later would else take their place,
/// and be written the messages that are meant for them. Those that were closed refuse what is read and
/// written. Aborts without /dev/null, as the C library does for privileged programs.
void open_standard_descriptors() noexcept;

/// Runs a daemon's body with its configuration: handles `--help` and `--version`, loads the configuration,
/// and turns a ConfigError into one line on standard error and exit_usage, any other exception into one line
/// and exit_failed. `summary`: what the program is, shown above the table of keys by --help.
int run_daemon(int argc, const char* const* argv, const std::string& summary,
               const std::function<int(const Config&)>& body);

/// Ends the process as SIGPIPE does, if the reader of that descriptor is gone.
void end_if_broken_pipe(int fd);

}  // namespace platform
