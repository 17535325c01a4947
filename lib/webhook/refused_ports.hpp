// Ports of other protocols, which an entity must not reach through our requests.
#pragma once

#include <cstdint>

namespace webhook {

/// Whether the port is a bad port of the Fetch standard (https://fetch.spec.whatwg.org/#port-blocking), or a
/// port of databases, queues, remote desktops and the like
/// (docs/security.md#addresses-and-ports-that-are-refused).
bool is_refused_port(std::uint16_t port);

}  // namespace webhook
