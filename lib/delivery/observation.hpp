// What a request shows besides the outcome of its attempt. Only a diagnosis asks for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace delivery {

/// What a handshake showed of a receiver's TLS.
struct TlsFacts {
  std::string version;        // "TLS 1.3"
  unsigned chain = 0;         // certificates sent
  platform::UtcTime until{};  // the end of validity of the receiver's own certificate
};

struct Observation {
  std::vector<platform::IpAddress> addresses{};  // of a look-up
  bool literal = false;    // of a look-up: the host is an address or in delivery.host_overrides; no look-up
  bool connected = false;  // of a handshake: TCP and TLS succeeded
  std::optional<TlsFacts> tls{};  // of a handshake
  /// The state in which the request found the connection that an earlier request kept open.
  enum class Kept { unknown, used, closed, answered_twice };
  Kept kept = Kept::unknown;
  /// When the sender took this request, a kept connection to the host was probably free. Always false once
  /// three quarters of the sockets that libcurl may keep are open: libcurl may then close kept ones itself.
  bool expects_kept = false;
  bool says_closed = false;  // the answer announced that the connection closes
  bool left_open = false;    // the connection stayed open after the answer
};

}  // namespace delivery
