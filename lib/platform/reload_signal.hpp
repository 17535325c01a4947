// SIGHUP as a descriptor: the order to read again what can be read again without a restart.
#pragma once

namespace platform {

/// Construct it in main before any thread: it blocks SIGHUP, whose default would end the process without
/// draining, for every thread made afterwards. One thread takes the orders. Not copyable.
class ReloadSignal {
 public:
  ReloadSignal();  ///< Throws std::system_error.
  ~ReloadSignal();
  ReloadSignal(const ReloadSignal&) = delete;
  ReloadSignal& operator=(const ReloadSignal&) = delete;

  /// Readable while there is an order to take. Owned by this object.
  int fd() const { return fd_; }
  /// True when SIGHUP came since the last time; several at once are one. Never waits.
  bool take() const;

 private:
  int fd_;
};

}  // namespace platform
