// The addresses of this host and of the database's servers. A webhook must not reach them, even if they are
// public (docs/security.md#addresses-and-ports-that-are-refused).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/platform/ip.hpp"

namespace dispatcher {

/// Reads them again every 30 s, in its own thread: a silent name server delays no delivery, no start and no
/// end. If a lookup fails, the last addresses stay.
class OwnAddresses {
 public:
  /// `database_hosts` as in database.hosts. When it returns, the interfaces' addresses and the literal ones
  /// are known; names follow when they have been looked up. Throws std::system_error.
  explicit OwnAddresses(const std::vector<std::string>& database_hosts);
  ~OwnAddresses();
  OwnAddresses(const OwnAddresses&) = delete;
  OwnAddresses& operator=(const OwnAddresses&) = delete;

  /// The addresses of the last reading, once; none: nothing new. Thread-safe.
  std::optional<std::vector<platform::IpNetwork>> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // shared with the thread, which a lookup may keep alive longer
};

}  // namespace dispatcher
