// Waits for the database when a program starts.
#pragma once

#include <functional>

#include "lib/platform/log.hpp"
#include "lib/platform/stop_signal.hpp"

namespace store {

/// Calls `check` until it throws no DatabaseError: the server may be unreachable, or the program's user or
/// the tables may be missing. The waits between the calls grow from 0.5 s to 5 s. Logs an error that differs
/// from the last one, and shows it in the service manager's status. Calls `between` before every call of
/// `check`. Returns false when the stop signal came first. Rethrows other exceptions of `check`.
bool wait_for_database(const std::function<void()>& check, const platform::StopSignal& stop,
                       const std::function<void()>& between, const platform::Log& log);

}  // namespace store
