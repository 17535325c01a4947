// Waits for a connection or the order to stop; each connection wakes one thread.
#pragma once

namespace api {

/// One per thread. With poll(2) every connection would wake every idle thread; EPOLLEXCLUSIVE wakes one.
class ConnectionWait {
 public:
  /// The caller owns both descriptors, which must outlive this object. Throws std::system_error.
  ConnectionWait(int listener_fd, int stop_fd);
  ~ConnectionWait();
  ConnectionWait(const ConnectionWait&) = delete;
  ConnectionWait& operator=(const ConnectionWait&) = delete;

  /// Waits for a second at most. True: there may be a connection to accept (another thread may take it
  /// first), or the second has passed. False: the thread must stop. Throws std::system_error.
  bool wait() const;

 private:
  void watch(int fd, unsigned events) const;

  int epoll_fd_;
  int stop_fd_;
};

}  // namespace api
