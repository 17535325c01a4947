#include "lib/platform/reload.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/platform/program.hpp"

namespace platform {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Takes back the SIGINT by which Reload asked for the end of the work. True: no SIGTERM has come.
bool withdraw_stop() {
  sigset_t own;
  sigset_t pending;
  sigemptyset(&own);
  sigaddset(&own, SIGINT);
  const timespec at_once{};
  ::sigtimedwait(&own, nullptr, &at_once);
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 0;
}

}  // namespace

std::vector<std::string> changed_keys(const Config& before, const Config& after) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < before.values.size(); ++i)
    if (before.values[i].value != after.values.at(i).value) names.push_back(before.values[i].name);
  return names;
}

Reload::Reload(const ReloadSignal& signal, Config in_force, std::function<Config()> load,
               std::function<void(const Config&)> check, const Log& log)
    : signal_(signal),
      in_force_(std::move(in_force)),
      load_(std::move(load)),
      check_(std::move(check)),
      log_(log) {
  ::prctl(PR_SET_NAME, program_invocation_short_name);  // "exe" after start_anew_if()
}

bool Reload::take() {
  if (!signal_.take()) return false;
  if (!wanted_) read_again();
  return true;
}

void Reload::read_again() try {
  std::error_code none;
  if (std::filesystem::is_fifo(in_force_.file, none))
    throw ConfigError(in_force_.file + " is a FIFO, which can be read only once");
  const auto next = load_();
  const auto changed = changed_keys(in_force_, next);
  if (changed.empty()) return log_.info("configuration unchanged");
  check_(next);
  log_.info("configuration changed; starting anew with it", {{"keys", joined(changed)}});
  wanted_ = true;
  ::kill(::getpid(), SIGINT);
} catch (const std::exception& error) {
  log_.error("configuration not reloaded; what was in force stays", {{"error", error.what()}});
}

int start_anew_if(int status, char** argv) {
  if (status != start_anew_status) return status;
  if (!withdraw_stop()) return exit_done;
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execv("/proc/self/exe", argv);  // also if an upgrade has replaced the file
  return exit_failed;
}

}  // namespace platform
