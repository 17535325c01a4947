// This host's addresses and those of the database's servers: to an entity's webhook they are no more public
// than private ones (docs/security.md#addresses-and-ports-that-are-refused).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/platform/ip.hpp"

namespace dispatcher {

/// Looks again every 30 s, in a thread of its own: a name server that does not answer holds up no delivery,
/// no start and no end. What cannot be looked up stays what it was.
class OwnAddresses {
 public:
  /// `database_hosts` as the key has them. Knows the interfaces' and the literal ones when it returns, names
  /// once they have been looked up. Throws std::system_error.
  explicit OwnAddresses(const std::vector<std::string>& database_hosts);
  ~OwnAddresses();
  OwnAddresses(const OwnAddresses&) = delete;
  OwnAddresses& operator=(const OwnAddresses&) = delete;

  /// What the last look found, once. Thread-safe.
  std::optional<std::vector<platform::IpNetwork>> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the thread, which a lookup may keep longer
};

}  // namespace dispatcher
