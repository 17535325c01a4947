#include "lib/platform/service_manager.hpp"

#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

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

void notify_service_manager(const std::string& state) { sd_notify(0, state.c_str()); }

void report_status(std::string_view text) {
  constexpr std::size_t longest = 400;
  // one_line() escapes line ends, because each would begin another field of the protocol. The text is cut
  // after that, because the escapes make it longer. The cut may split a UTF-8 character: the second
  // one_line() escapes the bytes that are left of it.
  notify_service_manager("STATUS=" + text::one_line(text::one_line(text).substr(0, longest)));
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
