// File descriptors: one for each connection, in use or kept.
#pragma once

namespace dispatcher {

/// Connections that libcurl may hold with `max_in_flight` attempts, idle ones included.
constexpr unsigned connections_for(unsigned max_in_flight) { return 4 * max_in_flight; }

/// Raises the process's soft limit to the hard one. Throws platform::ConfigError when that is too little for
/// max_in_flight: a lack of descriptors would otherwise look like receivers that cannot be reached.
void require_descriptors(unsigned max_in_flight);

}  // namespace dispatcher
