// The pool of threads that answers requests (design: api.threads threads per process, a database session
// each).
#pragma once

#include "fcgi-app/service.hpp"
#include "platform/config.hpp"
#include "platform/stop_signal.hpp"

namespace api {

/// Serves `listener_fd` until SIGTERM or SIGINT; requests in flight finish first. The database need not be
/// there. Throws std::runtime_error (std::system_error among them) when it cannot start.
void run_pool(int listener_fd, const platform::Settings& settings, const Shared& shared,
              const platform::StopSignal& stop);

}  // namespace api
