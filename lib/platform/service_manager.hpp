// The interface to the service manager (libsystemd's sd_listen_fds and sd_notify).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace platform {

/// Returns the listening socket inherited from systemd (LISTEN_FDS) or, without one, descriptor 0 if it
/// listens (the FastCGI convention, used by spawn-fcgi). nullopt when there is neither. Throws
/// std::runtime_error when systemd passed more than one socket, or one that does not listen.
std::optional<int> inherited_listening_socket();

/// Sends a state such as "READY=1" or "STOPPING=1" to the service manager, if there is one. Never fails.
void notify_service_manager(const std::string& state);

/// Sets STATUS=, which `systemctl status` shows to every user of this machine. The text becomes one line and
/// is cut to about 400 bytes. Never fails.
void report_status(std::string_view text);

/// Returns the first RuntimeDirectory= of the unit; nullopt if the unit has none.
std::optional<std::string> runtime_directory();

/// Returns $CREDENTIALS_DIRECTORY/name if it exists (systemd's LoadCredential).
std::optional<std::string> credential_path(const std::string& name);

}  // namespace platform
