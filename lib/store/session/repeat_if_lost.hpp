// Repeats a read on a new connection.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Calls `read`, and calls it again if the connection of `session` turns out to be lost, so that no client
/// sees an error when the database server has restarted. `read` must be safe to repeat. A connection
/// is also lost when the server is silent for SessionOptions::read_timeout_s (with several servers, for the
/// shorter of this and failover_s); so the wait is at most twice that time. Throws what the last call throws.
/// If `session` was not connected before, does not repeat a call that throws Unavailable.
template <class Read>
auto repeat_if_lost(Session& session, Read&& read) {
  const bool was_connected = session.connected();
  try {
    return read();
  } catch (const Unavailable&) {
    if (!was_connected) throw;  // a new connection has just failed
  }
  return read();
}

}  // namespace store
