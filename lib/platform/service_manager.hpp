// The interface to the service manager: the sockets and credentials that it passes, and what it is told
// (sd_notify(3)).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/platform/log.hpp"

namespace platform {

/// Returns the listening socket inherited from systemd (LISTEN_FDS) or, without one, descriptor 0 if it
/// listens (the FastCGI convention, used by spawn-fcgi). nullopt when there is neither. Throws
/// std::runtime_error when systemd passed more than one socket, or one that does not listen.
std::optional<int> inherited_listening_socket();

/// Sends a state such as "READY=1" or "STOPPING=1" to the service manager, if there is one. Never waits, as
/// sd_notify(3) would: returns false if the service manager takes nothing now. systemd restarts a program
/// whose READY=1 it did not get.
bool notify_service_manager(std::string_view state);

/// Sets STATUS=, which `systemctl status` shows to every user of this machine. The text becomes one line and
/// is cut to about 400 bytes. Returns as notify_service_manager().
bool report_status(std::string_view text);

/// Reports the status when it has changed, and again until the service manager has taken it. Then logs how
/// many reports it did not take.
class StatusLine {
 public:
  explicit StatusLine(Log log) : log_(std::move(log)) {}
  void report(const std::string& text);

 private:
  Log log_;
  std::string told_;
  unsigned refused_ = 0;
};

/// Returns the first RuntimeDirectory= of the unit; nullopt if the unit has none.
std::optional<std::string> runtime_directory();

/// Returns $CREDENTIALS_DIRECTORY/name if it exists (systemd's LoadCredential).
std::optional<std::string> credential_path(const std::string& name);

}  // namespace platform
