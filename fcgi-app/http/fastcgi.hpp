// Accepts requests and writes their answers: the API's only code that uses libfcgi.
#pragma once

#include <memory>
#include <optional>

#include "fcgi-app/http/entity_concurrency.hpp"
#include "fcgi-app/http/http.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/watchdog.hpp"

namespace api {

/// Call it once per process, before any thread starts, with the listening socket. Makes the socket
/// non-blocking, because SIGTERM does not wake a thread that is blocked in accept. Throws
/// std::runtime_error.
void prepare_fastcgi(int listener_fd);

/// Answers the requests of one thread. Must not throw.
class Responder {
 public:
  virtual ~Responder() = default;
  /// Answers the request. nullopt: `request.entity` is set, and the request must wait until another request
  /// of that entity ends (EntityConcurrency).
  virtual std::optional<Response> respond(Request& request) = 0;
  /// Answers a request that cannot wait, or has waited for too long.
  virtual Response refuse(const Request& request) = 0;
  /// Called when this thread has waited, for a second at most, and got no request.
  virtual void rest() = 0;
};

/// A request with its connection; a waiting exchange holds no thread.
struct Exchange;
struct DeleteExchange {
  void operator()(Exchange* exchange) const;
};
using RequestPlaces = EntityConcurrency<std::unique_ptr<Exchange, DeleteExchange>>;

/// Accepts requests and answers each by `responder`, one at a time, until `stop_fd` is readable; then
/// finishes the requests that it has accepted. Any number of threads can run it on one listener, with the
/// same `places`. `heartbeat` beats at every request. Without requests, `heartbeat` beats and
/// `responder.rest()` is called at least every second.
void serve_fastcgi(int listener_fd, int stop_fd, Responder& responder, RequestPlaces& places,
                   const platform::Log& log, platform::Heartbeat& heartbeat);

}  // namespace api
