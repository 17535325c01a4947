// The socket of the systemd journal. Internal to the library.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace platform {

/// Sends entries by the journal's own protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL), because libsystemd's
/// sd_journal_sendv() waits for as long as journald takes nothing. Safe to share between threads.
class Journal {
 public:
  /// `patience`: how long an entry waits while journald takes nothing; 0: not at all.
  explicit Journal(std::chrono::seconds patience);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// No field may contain a line end. Returns false if journald does not take the entry.
  bool send(const std::vector<std::string>& fields) const;

 private:
  int fd_;
};

}  // namespace platform
