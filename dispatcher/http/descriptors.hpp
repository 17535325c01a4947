// File descriptors: one for each connection, in use or kept; more for an attempt that looks its host up or
// dials it.
#pragma once

namespace dispatcher {

/// Each keeps as many connections as there may be attempts in flight: all of these can be to one webhook.
constexpr unsigned multi_handles = 4;

/// Connections that libcurl may hold with `max_in_flight` attempts, idle ones included.
constexpr unsigned connections_for(unsigned max_in_flight) { return multi_handles * max_in_flight; }

/// An attempt without a connection has at most a socket for each address that it dials (sockets_per_dial), or
/// for each name server (3 at most, resolv.conf(5)) and one more for TCP.
constexpr unsigned sockets_per_attempt = 4;

/// Raises the process's soft limit to the hard one. Throws platform::ConfigError when that is too little for
/// max_in_flight: a lack of descriptors would otherwise look like receivers that cannot be reached.
void require_descriptors(unsigned max_in_flight);

}  // namespace dispatcher
