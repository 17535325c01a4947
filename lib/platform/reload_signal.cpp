#include "lib/platform/reload_signal.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "lib/platform/signal_descriptor.hpp"

namespace platform {

ReloadSignal::ReloadSignal() : fd_(signal_descriptor({SIGHUP})) {}

ReloadSignal::~ReloadSignal() { ::close(fd_); }

bool ReloadSignal::take() const {
  // One read takes every SIGHUP sent so far: the kernel keeps only one pending.
  signalfd_siginfo received{};
  return ::read(fd_, &received, sizeof received) == static_cast<ssize_t>(sizeof received);
}

}  // namespace platform
