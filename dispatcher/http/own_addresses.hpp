// The addresses of this host and of the database's servers. A webhook must not reach them, even if they are
// public (docs/security.md#addresses-and-ports-that-are-refused).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/platform/ip.hpp"

namespace dispatcher {

/// Reads the addresses every 30 s, in a thread of its own, so that a silent name server delays neither
/// deliveries nor the dispatcher's start or end. If a lookup fails, the name's last addresses stay.
class OwnAddresses {
 public:
  /// `database_hosts` is the setting database.hosts. When the constructor returns, this host's addresses and
  /// the literal addresses in `database_hosts` are known; the addresses of names follow after their lookup.
  /// Throws std::system_error.
  explicit OwnAddresses(const std::vector<std::string>& database_hosts);
  ~OwnAddresses();
  OwnAddresses(const OwnAddresses&) = delete;
  OwnAddresses& operator=(const OwnAddresses&) = delete;

  /// Returns the addresses that were read last, or nullopt if an earlier call has returned them. Thread-safe.
  std::optional<std::vector<platform::IpNetwork>> take();

 private:
  struct Shared;
  // Shared with the thread. If this object ends during a lookup, the thread runs until the lookup ends.
  std::shared_ptr<Shared> shared_;
};

}  // namespace dispatcher
