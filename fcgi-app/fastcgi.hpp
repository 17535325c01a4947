// The adapter of libfcgi, which nothing else sees.
#pragma once

#include <functional>

#include "fcgi-app/http.hpp"
#include "platform/log.hpp"
#include "platform/watchdog.hpp"

namespace api {

/// Once per process, before any thread, with the listening socket, which becomes non-blocking: SIGTERM wakes
/// no thread that libfcgi blocked in accept. Throws std::runtime_error.
void prepare_fastcgi(int listener_fd);

/// Accepts requests and answers each with `respond`, one at a time, until `stop_fd` is readable; a request
/// that was accepted is finished. Any number of threads can run it on one listener. `respond` must not throw.
/// `heartbeat` beats at every request, and every second without one; then `rest` is called, too, sometimes
/// sooner.
void serve_fastcgi(int listener_fd, int stop_fd, const std::function<Response(const Request&)>& respond,
                   const std::function<void()>& rest, const platform::Log& log,
                   platform::Heartbeat& heartbeat);

}  // namespace api
