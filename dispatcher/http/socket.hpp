// The owner of a socket's descriptor, and the meaning of errno values of sockets.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dispatcher {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// -1: no descriptor.
  int fd() const { return fd_; }
  /// Gives the descriptor to the caller, who closes it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// True for an errno by which the system itself says that it cannot reach the receiver.
inline bool is_no_route(long error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case ETIMEDOUT:
    case EADDRNOTAVAIL:  // fault_of_connect() has told it from a lack of ports
    case EACCES:         // a prohibit route
    case EINVAL:         // a blackhole route
      return true;
    default:
      return false;
  }
}

}  // namespace dispatcher
