// Repeats a read on a new connection.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Calls `read`, and calls it again if the connection of `session` turns out to be lost, so that no client
/// sees an error when the database server has restarted. `read` must be safe to repeat. A silent server
/// counts as lost: the wait is at most twice SessionOptions::read_timeout_s, less with several servers.
/// Throws what the last call throws; throws Unavailable at once if there was no connection to lose.
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
