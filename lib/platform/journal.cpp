#include "lib/platform/journal.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace platform {

Journal::Journal(std::chrono::seconds patience)
    : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | (patience.count() == 0 ? SOCK_NONBLOCK : 0), 0)) {
  constexpr int buffer = 8 << 20;  // as libsystemd asks for; the kernel grants less
  const timeval longest{patience.count(), 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
}

Journal::~Journal() { ::close(fd_); }

bool Journal::send(const std::vector<std::string>& fields) const {
  constexpr sockaddr_un journald{AF_UNIX, "/run/systemd/journal/socket"};
  std::string entry;
  for (const auto& field : fields) entry.append(field).append("\n");
  const auto* const address = reinterpret_cast<const sockaddr*>(&journald);
  return ::sendto(fd_, entry.data(), entry.size(), MSG_NOSIGNAL, address, sizeof journald) >= 0;
}

}  // namespace platform
