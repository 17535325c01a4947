#include "dispatcher/http/poller.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace dispatcher {

Poller::Poller() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}
Poller::~Poller() { ::close(fd_); }

void Poller::watch(int fd, bool read, bool write) {
  epoll_event event{};
  event.events = (read ? EPOLLIN : 0U) | (write ? EPOLLOUT : 0U);
  event.data.fd = fd;
  // ADD is tried first: libcurl stops watching a socket after each request, so the next request adds it
  // again.
  if (::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) == 0) return;
  if (errno == EEXIST && ::epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) == 0) return;
  throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void Poller::forget(int fd) noexcept { ::epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); }

std::span<const Poller::Event> Poller::wait(platform::Milliseconds longest) {
  std::array<epoll_event, std::tuple_size_v<decltype(ready_)>> events{};
  const auto began = platform::monotonic_now();
  last_round_ = began - ran_;
  const int count =
      ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), static_cast<int>(longest.count()));
  const auto now = platform::monotonic_now();
  if (now >= ran_ + std::max(longest, platform::Milliseconds{}) + longest_lag) stopped_until_ = now;
  ran_ = now;
  const auto found = static_cast<std::size_t>(std::max(count, 0));
  if (count >= 0 && found < events.size()) {
    read_until_ = unread_since_ = began;
  } else if (count > 0 && began >= unread_since_ + longest_lag) {
    // More sockets were ready each time. epoll gives them in turns, and by now each has had its turn.
    read_until_ = std::exchange(unread_since_, began);
  }  // otherwise: after SIGCONT epoll_wait fails with EINTR, whatever the sockets hold
  for (std::size_t i = 0; i < found; ++i) {
    const auto flags = events[i].events;
    ready_[i] = {events[i].data.fd, (flags & EPOLLIN) != 0, (flags & EPOLLOUT) != 0,
                 (flags & (EPOLLERR | EPOLLHUP)) != 0};
  }
  return {ready_.data(), found};
}

bool Poller::stopped_since(platform::MonotonicTime time) const {
  return time < stopped_until_ || platform::monotonic_now() >= ran_ + longest_lag;
}

}  // namespace dispatcher
