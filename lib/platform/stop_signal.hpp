// SIGTERM and SIGINT as a descriptor that becomes readable and stays readable.
#pragma once

namespace platform {

/// Construct it in main before any thread starts: it blocks both signals in this thread and in every thread
/// started later, and ignores SIGPIPE. Nothing reads the descriptor, so any number of threads can poll it.
class StopSignal {
 public:
  StopSignal();  ///< Throws std::system_error.
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Level-triggered: readable from the first signal on. Owned by this object.
  int fd() const { return fd_; }
  bool requested() const;
  /// Returns true as soon as a signal has come, or false after `timeout_ms`.
  bool wait(int timeout_ms) const;

 private:
  int fd_;
};

}  // namespace platform
