#include "lib/platform/stop_signal.hpp"

#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "lib/platform/signal_descriptor.hpp"

namespace platform {

StopSignal::StopSignal() : fd_(signal_descriptor({SIGTERM, SIGINT})) {
  // A write to a closed connection must fail, not end the process.
  std::signal(SIGPIPE, SIG_IGN);
}

StopSignal::~StopSignal() { ::close(fd_); }

bool StopSignal::requested() const { return wait(0); }

bool StopSignal::wait(int timeout_ms) const {
  pollfd descriptor{fd_, POLLIN, 0};
  return ::poll(&descriptor, 1, timeout_ms) == 1;
}

}  // namespace platform
