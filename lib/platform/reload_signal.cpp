#include "platform/reload_signal.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace platform {

ReloadSignal::ReloadSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  }
  fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

ReloadSignal::~ReloadSignal() { ::close(fd_); }

bool ReloadSignal::take() const {
  // A pending signal is pending once, however often it was sent.
  signalfd_siginfo received{};
  return ::read(fd_, &received, sizeof received) == static_cast<ssize_t>(sizeof received);
}

}  // namespace platform
