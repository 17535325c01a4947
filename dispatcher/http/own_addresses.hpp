// This host's addresses and those of the database's servers: to an entity's webhook they are no more public
// than private ones (docs/security.md#addresses-and-ports-that-are-refused).
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "platform/ip.hpp"

namespace dispatcher {

/// Looks again every 30 s, in a thread of its own: a name server that does not answer holds up no delivery.
/// What cannot be looked up stays what it was.
class OwnAddresses {
 public:
  /// `database_hosts` as the key has them. Has looked once when it returns. Throws std::system_error.
  explicit OwnAddresses(const std::vector<std::string>& database_hosts);

  /// What the last look found, once. Thread-safe.
  std::optional<std::vector<platform::IpNetwork>> take();

 private:
  using Networks = std::vector<platform::IpNetwork>;

  void look();

  std::map<std::string, Networks> database_hosts_;  // by name
  Networks interfaces_;
  std::mutex mutex_;  // of found_
  std::condition_variable_any stopped_;
  std::optional<Networks> found_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace dispatcher
