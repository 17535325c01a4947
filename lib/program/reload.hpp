// SIGHUP: the program takes a changed configuration by starting anew within its process, after it has ended
// its work as at a stop. Every key is taken in this way, and no code has to follow a change of its settings.
// A configuration with which the program would not start is never taken.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "lib/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/reload_signal.hpp"

namespace program {

/// Loads the configuration of a daemon, as run_daemon does. Throws ConfigError.
config::Config load_daemon_config(int argc, const char* const* argv);

class Reload {
 public:
  /// `signal` outlives this object. `check` throws if the program could not start with the configuration.
  Reload(const platform::ReloadSignal& signal, config::Config in_force, std::function<config::Config()> load,
         std::function<void(const config::Config&)> check, const platform::Log& log);

  /// Readable while an order to reload is pending.
  int fd() const { return signal_.fd(); }
  /// Takes the pending order, if there is one, and returns true. If the configuration has changed and is
  /// good, the process's StopSignal then asks for the end of the work. Logs what becomes of the order.
  bool take();
  /// For the beginning of STATUS=: says that the last order was refused, or is empty. Thread-safe.
  std::string_view refusal() const {
    return refused_ ? "configuration NOT RELOADED, what was in force stays (see the log); " : "";
  }
  /// True: the program is to start anew, once its work has ended.
  bool wanted() const { return wanted_; }
  /// The status for start_anew_if(), after the work has ended. If the configuration has become bad since it
  /// was checked, waits until it is mended or SIGTERM comes: the program that starts anew would end for good.
  int end() const;

 private:
  void read_again();
  config::Config read() const;

  const platform::ReloadSignal& signal_;
  const config::Config in_force_;
  std::function<config::Config()> load_;
  std::function<void(const config::Config&)> check_;
  const platform::Log log_;
  bool wanted_ = false;
  std::atomic<bool> refused_ = false;
};

/// Whether SIGTERM has come. A reload ends the work by SIGINT.
bool stop_ordered();

/// Call this last in main, with the status of run_daemon(). If that is of Reload::end(), it executes the
/// program once more, with `argv`; it returns the exit status if SIGTERM has come, too, or if that fails.
/// Else it returns `status`. A descriptor other than the standard ones is closed.
int start_anew_if(int status, char** argv);

}  // namespace program
