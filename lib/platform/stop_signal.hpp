// SIGTERM and SIGINT as a descriptor that becomes readable and stays so.
#pragma once

namespace platform {

/// Construct it first thing in main, before any thread: it blocks both signals for every thread made
/// afterwards, and ignores SIGPIPE. Nothing ever reads the descriptor, so any number of threads
/// can poll it. Not copyable.
class StopSignal {
 public:
  StopSignal();  ///< Throws std::system_error.
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Level-triggered: readable from the first signal until the process ends. Owned by this object.
  int fd() const { return fd_; }
  bool requested() const;
  /// Waits up to `timeout_ms` for the signal; true when it came.
  bool wait(int timeout_ms) const;

 private:
  int fd_;
};

}  // namespace platform
