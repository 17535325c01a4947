// The database at the start of a program: waited for, whatever is missing.
#pragma once

#include <functional>

#include "lib/platform/log.hpp"
#include "lib/platform/stop_signal.hpp"

namespace store {

class Session;

/// Part of a `check`: throws Unavailable when the server is not as the programs need it (requirements.hpp);
/// what stops nothing is said in the log.
void warn_of_server(Session& session, const platform::Log& log);

/// Tries `check` again and again, half a second apart at first, then up to 5 s, until it throws no
/// DatabaseError: the server may be away, the user or the tables not yet made. What is wrong is said in the
/// log, once for each reason, and in the service manager's status. `between` is called at every try. False
/// when the signal came first. What else `check` throws passes through.
bool wait_for_database(const std::function<void()>& check, const std::function<void()>& between,
                       const platform::StopSignal& stop, const platform::Log& log);

}  // namespace store
