// What the programs share: a daemon's start (--help, --version, --config, the keys), and exit statuses.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/platform/reload_signal.hpp"
#include "lib/platform/stop_signal.hpp"

namespace program {

/// Returns the process's environment as NAME=VALUE texts.
std::vector<std::string> process_environment();

/// Returns the table of keys for --help, wrapped to 100 columns.
std::string describe_keys();

/// Exit statuses of every program.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

/// Opens /dev/null in place of each standard descriptor that is closed. Otherwise a later open(2) would take
/// the free number, and the program's messages would go to the opened file. /dev/null is opened for the wrong
/// direction (standard input for writing), so that using the descriptor still fails. Aborts if /dev/null
/// cannot be opened, as the C library does for privileged programs.
void open_standard_descriptors() noexcept;

struct Signals {
  platform::StopSignal stop;
  platform::ReloadSignal reload;
};

/// Runs a daemon's body with its configuration: takes over the signals before all else, handles `--help` and
/// `--version`, loads the configuration, and turns a ConfigError into one line on standard error and
/// exit_usage, any other exception into one line and exit_failed. --help shows `summary`, a description of
/// the program, above the table of keys.
int run_daemon(int argc, const char* const* argv, const std::string& summary,
               const std::function<int(const config::Config&, const Signals&)>& body);

/// Ends the process as SIGPIPE would, if the reader of the descriptor is gone.
void end_if_broken_pipe(int fd);

}  // namespace program
