// What the service manager hands over and is told (libsystemd's sd_listen_fds and sd_notify).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace platform {

/// The listening socket inherited from systemd (LISTEN_FDS) or, failing that, from a starter that made
/// descriptor 0 one (the FastCGI convention, spawn-fcgi's). nullopt when there is neither. Throws
/// std::runtime_error when systemd passed more than one, or one that does not listen.
std::optional<int> inherited_listening_socket();

/// Tells the service manager, if there is one: "READY=1", "STOPPING=1", "STATUS=…". Never fails.
void notify_service_manager(const std::string& state);

/// STATUS= of `systemctl status`, for anybody on this machine to read: one line of at most 400 bytes,
/// whatever the text holds. Never fails.
void report_status(std::string_view text);

/// The unit's RuntimeDirectory=, the first of several; none outside systemd.
std::optional<std::string> runtime_directory();

/// $CREDENTIALS_DIRECTORY/name when it exists (systemd LoadCredential).
std::optional<std::string> credential_path(const std::string& name);

}  // namespace platform
