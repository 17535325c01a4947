#include "fcgi-app/http/connection_wait.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace api {

ConnectionWait::ConnectionWait(int listener_fd, int stop_fd)
    : epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)), stop_fd_(stop_fd) {
  if (epoll_fd_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  watch(listener_fd, EPOLLIN | EPOLLEXCLUSIVE);
  watch(stop_fd, EPOLLIN);
}

ConnectionWait::~ConnectionWait() { ::close(epoll_fd_); }

void ConnectionWait::watch(int fd, unsigned events) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) < 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

bool ConnectionWait::wait() const {
  constexpr int longest_ms = 1000;
  std::array<epoll_event, 2> events{};
  int count = 0;
  do {
    count = ::epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), longest_ms);
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw std::system_error(errno, std::generic_category(), "epoll_wait");
  for (int i = 0; i < count; ++i)
    if (events.at(static_cast<std::size_t>(i)).data.fd == stop_fd_) return false;
  return true;
}

}  // namespace api
