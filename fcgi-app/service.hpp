// A request in, a response out: the order of checks (web/docs/usar-la-api.md#en-qué-orden-se-comprueba), the
// one catch ladder, the access log.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "fcgi-app/caller_lookup.hpp"
#include "fcgi-app/fastcgi.hpp"
#include "fcgi-app/http.hpp"
#include "fcgi-app/observation.hpp"
#include "fcgi-app/routes.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace api {

/// What all threads share: keys, which a reload replaces, and what is seen of them from outside. It outlives
/// every Service.
struct Shared {
  webhook::SharedKeys keys;
  std::vector<platform::HostOverride> overrides;
  platform::Log log;
  Observation& observation;
  platform::LimitSettings limits = {};
  platform::Milliseconds disable_after{};                 // delivery.disable_after
  std::vector<platform::IpNetwork> hidden_networks = {};  // whose addresses no entity is shown
};

/// One per thread: it owns the thread's database session.
class Service : public Responder {
 public:
  /// `callers` and `places`, as `shared`, are all threads' and outlive this.
  Service(const Shared& shared, CallerLookup& callers, RequestPlaces& places, store::Session session);

  /// For when no request comes: a session that was not used for 30 s is given back to the database,
  /// and its memory to this host. A few kilobytes for each prepared statement, in every thread, are not for
  /// ever.
  void rest() override;

  /// Never throws for what a client or the database does; whatever goes wrong is a response.
  std::optional<Response> respond(Request& request) override;
  Response refuse(const Request& request) override;

 private:
  /// What the log says of a request, known bit by bit. The route's pattern, never the path: it is the
  /// client's text.
  struct AccessLogEntry {
    Request& request;
    Match match;
  };

  std::optional<Response> respond_to_client(Request& request);
  Response respond_to_balancer(std::string_view method);
  bool database_works(Probe probe);
  std::optional<Response> answer(AccessLogEntry& entry);
  std::optional<Response> perform(AccessLogEntry& entry);
  bool enter(Request& request);
  store::Caller authenticate(const AccessLogEntry& entry);
  std::optional<store::Caller> find_caller(const Route* route, const store::TokenHash& hash);
  void record(const Request& request, const Match& match, int status) const;

  const Shared& shared_;
  CallerLookup& callers_;
  RequestPlaces& places_;
  platform::Log log_;
  store::Session session_;  // of handlers
};

/// `application/json` with any parameters (RFC 9110 section 8.3.1); the case does not matter. Pure.
bool is_json(std::string_view content_type);
/// The same of `application/merge-patch+json` (RFC 7396).
bool is_merge_patch(std::string_view content_type);

}  // namespace api
