#include "lib/store/session/wait_for_database.hpp"

#include <algorithm>
#include <string>

#include "lib/platform/service_manager.hpp"
#include "lib/store/session/errors.hpp"

namespace store {

bool wait_for_database(const std::function<void()>& check, const platform::StopSignal& stop,
                       const std::function<void()>& between, const platform::Log& log) {
  constexpr int longest_ms = 5000;
  platform::StatusLine status(log);
  std::string reason;
  for (int wait_ms = 500;; wait_ms = std::min(2 * wait_ms, longest_ms)) {
    between();
    try {
      check();
      if (!reason.empty()) log.info("database available");
      return true;
    } catch (const DatabaseError& error) {
      if (reason != error.what()) {
        reason = error.what();
        log.warning("waiting for the database", {{"error", reason}});
      }
      status.report("waiting for the database: " + reason);
    }
    if (stop.wait(wait_ms)) return false;
  }
}

}  // namespace store
