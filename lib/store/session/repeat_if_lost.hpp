// What is only read may be read again on a new connection.
#pragma once

#include "lib/store/session/session.hpp"

namespace store {

/// Calls `read`, and once more when it finds the connection of `session` lost, as after a restart of the
/// database server, which must not cost a client an error. Only for what may happen twice. A server that is
/// silent counts as lost, too: it is waited for twice SessionOptions::read_timeout_s at most, unless there
/// are others. Throws what the last call throws: Unavailable at once where there was no connection to lose.
template <class Read>
auto repeat_if_lost(Session& session, Read&& read) {
  const bool was_connected = session.connected();
  try {
    return read();
  } catch (const Unavailable&) {
    if (!was_connected) throw;  // no new one to be had
  }
  return read();
}

}  // namespace store
