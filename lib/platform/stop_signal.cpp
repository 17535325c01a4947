#include "platform/stop_signal.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace platform {

StopSignal::StopSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  }
  std::signal(SIGPIPE,
              SIG_IGN);  // a peer that hangs up is an error of that write, not the end of the process
  fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

StopSignal::~StopSignal() { ::close(fd_); }

bool StopSignal::requested() const { return wait(0); }

bool StopSignal::wait(int timeout_ms) const {
  pollfd descriptor{fd_, POLLIN, 0};
  return ::poll(&descriptor, 1, timeout_ms) == 1;
}

}  // namespace platform
