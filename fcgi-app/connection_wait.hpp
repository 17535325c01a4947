// Waiting for a connection or the order to stop, one thread woken per connection.
#pragma once

namespace api {

/// One per thread. With poll(2), every idle thread would wake for every connection; EPOLLEXCLUSIVE wakes one.
class ConnectionWait {
 public:
  /// Both descriptors stay the caller's and must outlive this. Throws std::system_error.
  ConnectionWait(int listener_fd, int stop_fd);
  ~ConnectionWait();
  ConnectionWait(const ConnectionWait&) = delete;
  ConnectionWait& operator=(const ConnectionWait&) = delete;

  /// True: there may be a connection to accept (another thread can be faster), or a second has passed
  /// without one. False: stop. Throws std::system_error.
  bool wait() const;

 private:
  void watch(int fd, unsigned events) const;

  int epoll_fd_;
  int stop_fd_;
};

}  // namespace api
