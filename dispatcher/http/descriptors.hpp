// File descriptors: one for each connection, in use or kept; more for an attempt that looks its host up or
// dials it.
#pragma once

namespace dispatcher {

/// Each keeps as many connections as there may be attempts in flight: all of these can be to one webhook.
constexpr unsigned multi_handles = 4;

/// Connections that libcurl may hold with `max_in_flight` attempts, idle ones included.
constexpr unsigned connections_for(unsigned max_in_flight) { return multi_handles * max_in_flight; }

/// An attempt without a connection has a socket for each address that it dials (sockets_per_dial at most), or
/// two for each name server, UDP and TCP, of which resolv.conf(5) takes three.
constexpr unsigned sockets_per_attempt = 6;

/// Raises the process's soft limit to the hard one. Throws platform::ConfigError when that is too little for
/// max_in_flight: a lack of descriptors would otherwise look like receivers that cannot be reached.
void require_descriptors(unsigned max_in_flight);

}  // namespace dispatcher
