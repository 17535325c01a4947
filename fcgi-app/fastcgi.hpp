// The adapter of libfcgi, which nothing else sees.
#pragma once

#include <memory>
#include <optional>

#include "fcgi-app/entity_concurrency.hpp"
#include "fcgi-app/http.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/watchdog.hpp"

namespace api {

/// Once per process, before any thread, with the listening socket, which becomes non-blocking: SIGTERM wakes
/// no thread that libfcgi blocked in accept. Throws std::runtime_error.
void prepare_fastcgi(int listener_fd);

/// Who answers, one for each thread. Must not throw.
class Responder {
 public:
  virtual ~Responder() = default;
  /// nullopt: the request is to wait for a place of its entity, which it names now.
  virtual std::optional<Response> respond(Request& request) = 0;
  /// The answer to one that cannot wait, or has waited for too long.
  virtual Response refuse(const Request& request) = 0;
  /// When no request comes.
  virtual void rest() = 0;
};

/// A request with its connection, which waits where no thread does.
struct Exchange;
struct DeleteExchange {
  void operator()(Exchange* exchange) const;
};
using RequestPlaces = EntityConcurrency<std::unique_ptr<Exchange, DeleteExchange>>;

/// Accepts requests and answers each by `responder`, one at a time, until `stop_fd` is readable; a request
/// that was accepted is finished. Any number of threads can run it on one listener, with the same `places`.
/// `heartbeat` beats at every request, and every second without one; then `responder` rests, too, sometimes
/// sooner.
void serve_fastcgi(int listener_fd, int stop_fd, Responder& responder, RequestPlaces& places,
                   const platform::Log& log, platform::Heartbeat& heartbeat);

}  // namespace api
