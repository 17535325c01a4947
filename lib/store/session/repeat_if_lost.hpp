// Repeats a read on a new connection.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Calls `read`, and calls it again if the connection of `session` turns out to be lost, so that no client
/// sees an error when the database server has restarted. `read` must be safe to repeat. A connection also
/// counts as lost when the server is silent for longer than the read time-out. This time-out is
/// SessionOptions::read_timeout_s or, with several servers, failover_s if that is shorter. So the two calls
/// wait for a silent server at most twice the time-out. Throws what the last call throws. If `session` was
/// not connected before, does not repeat a call that throws Unavailable.
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
