// Ports of other protocols: no webhook is served there, and what is must not be spoken to through us.
#pragma once

#include <cstdint>

namespace webhook {

/// The bad ports of the Fetch standard (https://fetch.spec.whatwg.org/#port-blocking), and those of
/// databases, queues and remote desktops (docs/security.md#addresses-and-ports-that-are-refused).
bool is_refused_port(std::uint16_t port);

}  // namespace webhook
