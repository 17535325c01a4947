// File descriptors that the dispatcher needs: one for each connection, in use or kept, and several for an
// attempt that looks up or dials its host.
#pragma once

namespace dispatcher {

/// Number of libcurl's multi handles. All connections to one host belong to the same handle. Each handle may
/// keep as many connections as attempts may be in flight, because all attempts can go to one host.
constexpr unsigned multi_handles = 4;

/// Most connections that libcurl holds, including idle ones.
constexpr unsigned connections_for(unsigned max_in_flight) { return multi_handles * max_in_flight; }

/// The most sockets that an attempt has open before it has a connection. The look-up of its host takes two
/// (UDP and TCP) for each name server, and resolv.conf(5) allows three name servers. Afterwards, dialling the
/// host takes fewer (sockets_per_dial in dialler.hpp).
constexpr unsigned sockets_per_attempt = 6;

/// Raises the process's soft limit to the hard limit. Throws config::ConfigError if the hard limit is too
/// low for max_in_flight deliveries and `test_requests` of diagnoses: without descriptors, receivers would
/// seem unreachable.
void require_descriptors(unsigned max_in_flight, unsigned test_requests);

}  // namespace dispatcher
