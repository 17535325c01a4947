#include "lib/program/reload.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/platform/service_manager.hpp"
#include "lib/program/program.hpp"

namespace program {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The keys with other values, whatever their sources.
std::vector<std::string> changed_keys(const config::Config& before, const config::Config& after) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < before.values.size(); ++i)
    if (before.values[i].value != after.values.at(i).value) names.push_back(before.values[i].name);
  return names;
}

constexpr int start_anew_status = -1;

/// Takes back the SIGINT by which Reload asked for the end of the work.
void withdraw_stop() {
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, SIGINT);
  const timespec at_once{};
  ::sigtimedwait(&own, nullptr, &at_once);
}

}  // namespace

Reload::Reload(const platform::ReloadSignal& signal, config::Config in_force,
               std::function<config::Config()> load, std::function<void(const config::Config&)> check,
               const platform::Log& log)
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

/// Throws ConfigError.
config::Config Reload::read() const {
  using Type = std::filesystem::file_type;
  const auto& file = in_force_.file;
  std::error_code unknown;
  const auto type = std::filesystem::status(file, unknown).type();
  if (type == Type::fifo) throw config::ConfigError(file + " is a FIFO, which can be read only once");
  const auto of_file = [&](const auto& key) { return key.source.starts_with(file + ':'); };
  if (type == Type::not_found && std::ranges::any_of(in_force_.values, of_file))
    throw config::ConfigError(file + " has vanished");
  return load_();
}

void Reload::read_again() try {
  const auto next = read();
  const auto changed = changed_keys(in_force_, next);
  if (!changed.empty()) check_(next);
  refused_ = false;
  if (changed.empty()) return log_.info("configuration unchanged");
  log_.info("configuration changed; starting anew with it", {{"keys", joined(changed)}});
  wanted_ = true;
  ::kill(::getpid(), SIGINT);
} catch (const std::exception& error) {
  refused_ = true;
  log_.error("configuration not reloaded; what was in force stays", {{"error", error.what()}});
}

int Reload::end() const {
  if (!wanted_) return exit_done;
  for (bool told = false; !stop_ordered(); ::sleep(1)) try {
      check_(read());
      break;
    } catch (const config::ConfigError& error) {
      if (!std::exchange(told, true))
        log_.error("configuration is no longer good; starting anew once it is", {{"error", error.what()}});
      platform::notify_service_manager("WATCHDOG=1");
    } catch (const std::exception&) {  // may end by itself: the program waits for that when it starts
      break;
    }
  return start_anew_status;
}

bool stop_ordered() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

int start_anew_if(int status, char** argv) {
  if (status != start_anew_status) return status;
  if (stop_ordered()) return exit_done;
  withdraw_stop();
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execv("/proc/self/exe", argv);  // also if an upgrade has replaced the file
  return exit_failed;
}

}  // namespace program
