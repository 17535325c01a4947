// SIGHUP as a descriptor: the order to reload what can change without a restart.
#pragma once

namespace platform {

/// Construct it in main before any thread starts: it blocks SIGHUP in every thread started later. Unblocked,
/// SIGHUP would end the process at once. Only one thread may call take().
class ReloadSignal {
 public:
  ReloadSignal();  ///< Throws std::system_error.
  ~ReloadSignal();
  ReloadSignal(const ReloadSignal&) = delete;
  ReloadSignal& operator=(const ReloadSignal&) = delete;

  /// Readable while an order is pending. Owned by this object.
  int fd() const { return fd_; }
  /// Takes the pending order. True: SIGHUP came since the last call; several signals count once. Never
  /// blocks.
  bool take() const;

 private:
  int fd_;
};

}  // namespace platform
