// The pool of threads that answers requests (api.threads threads per process, a database session
// each).
#pragma once

#include "fcgi-app/service.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/reload_signal.hpp"
#include "lib/platform/stop_signal.hpp"

namespace api {

/// Serves `listener_fd` until SIGTERM or SIGINT; requests in flight finish first. SIGHUP reads
/// secrets.key_file again. The database need not be there. Throws std::runtime_error (std::system_error among
/// them) when it cannot start.
void run_pool(int listener_fd, const platform::Settings& settings, Shared& shared,
              const platform::StopSignal& stop, const platform::ReloadSignal& reload);

}  // namespace api
