#include "lib/platform/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "lib/text/text.hpp"

namespace platform {

namespace {

bool is_listening(int fd) {
  int accepts = 0;
  socklen_t size = sizeof accepts;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0 && accepts != 0;
}

}  // namespace

std::optional<int> inherited_listening_socket() {
  const int count = sd_listen_fds(1);
  if (count < 0) throw std::runtime_error("LISTEN_FDS or LISTEN_PID of the environment is not a number");
  if (count > 1)
    throw std::runtime_error("systemd passed " + std::to_string(count) + " sockets, one is expected");
  if (count == 1) {
    if (!is_listening(SD_LISTEN_FDS_START))
      throw std::runtime_error("the descriptor that systemd passed is not a listening socket");
    return SD_LISTEN_FDS_START;
  }
  // By the FastCGI convention the starter passes the listening socket as descriptor 0.
  return is_listening(STDIN_FILENO) ? std::optional(STDIN_FILENO) : std::nullopt;
}

bool notify_service_manager(std::string_view state) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string path = variable == nullptr ? "" : variable;
  sockaddr_un address{AF_UNIX, {}};
  if ((!path.starts_with('/') && !path.starts_with('@')) || path.size() >= sizeof address.sun_path)
    return true;
  path.copy(address.sun_path, path.size());
  if (path.starts_with('@')) address.sun_path[0] = '\0';  // an abstract address
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool sent = ::sendto(fd, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size) >= 0;
  const bool refused = !sent && errno == EAGAIN;
  ::close(fd);
  return !refused;
}

bool report_status(std::string_view text) {
  constexpr std::size_t longest = 400;
  // one_line() escapes line ends, because each would begin another field of the protocol.
  return notify_service_manager("STATUS=" + std::string(text::cut(text::one_line(text), longest)));
}

void StatusLine::report(const std::string& text) {
  if (text == told_) return;
  if (!report_status(text)) {
    ++refused_;
    return;
  }
  told_ = text;
  if (const auto refused = std::exchange(refused_, 0); refused > 0)
    log_.warning("the service manager took no status for a time", {{"reports", refused}});
}

std::optional<std::string> runtime_directory() {
  const char* const folders = std::getenv("RUNTIME_DIRECTORY");
  if (folders == nullptr || *folders == '\0') return std::nullopt;
  const std::string_view all = folders;
  return std::string(all.substr(0, all.find(':')));
}

std::optional<std::string> credential_path(const std::string& name) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr) return std::nullopt;
  const std::string path = std::string(folder) + "/" + name;
  return ::access(path.c_str(), F_OK) == 0 ? std::optional(path) : std::nullopt;
}

}  // namespace platform
