// The pool of threads that answer requests: api.threads per process, each with a database session.
#pragma once

#include "fcgi-app/service.hpp"
#include "lib/config/config.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/program/reload.hpp"

namespace api {

/// Serves `listener_fd` until SIGTERM or SIGINT, and then finishes the requests in flight. An order to reload
/// also reads secrets.key_file again. Starts even if the database is unavailable. Throws std::runtime_error
/// (also std::system_error) when it cannot start, or a thread has failed.
void run_pool(int listener_fd, const config::Settings& settings, Shared& shared,
              const platform::StopSignal& stop, program::Reload& reload);

}  // namespace api
