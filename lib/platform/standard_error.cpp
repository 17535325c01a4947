#include "lib/platform/standard_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

#include "lib/text/text.hpp"

namespace platform {

namespace {

/// Returns a non-blocking descriptor of the pipe or terminal that standard error is, or standard error itself
/// where that is not possible. O_NONBLOCK on standard error itself would concern all processes that share it.
int open_anew() {
  struct stat status;
  const bool can_block =
      ::fstat(STDERR_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
  const int fd = can_block ? ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
  return fd < 0 ? STDERR_FILENO : fd;
}

}  // namespace

StandardError::StandardError() : fd_(open_anew()) {}

StandardError::~StandardError() {
  if (fd_ != STDERR_FILENO) ::close(fd_);
}

bool StandardError::write_line(std::string_view line) const {
  const auto text = std::string(text::cut(line, PIPE_BUF - 1)) + '\n';
  const auto size = static_cast<ssize_t>(text.size());
  const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent == size;
  // For a pipe that could not be opened anew: a writable pipe has room for PIPE_BUF bytes.
  pollfd state{fd_, POLLOUT, 0};
  return ::poll(&state, 1, 0) == 1 && ::write(fd_, text.data(), text.size()) == size;
}

}  // namespace platform
