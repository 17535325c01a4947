// Turns a request into a response. Has the order of checks
// (web/docs/usar-la-api.md#en-qué-orden-se-comprueba), the one place that turns exceptions into responses,
// and the access log.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "fcgi-app/caller_lookup.hpp"
#include "fcgi-app/http/fastcgi.hpp"
#include "fcgi-app/http/http.hpp"
#include "fcgi-app/observation.hpp"
#include "fcgi-app/routes.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace api {

/// What all threads share; it must outlive every Service. Only two members change: the keys, which a reload
/// replaces, and the observation.
struct Shared {
  webhook::SharedKeys keys;
  std::vector<config::HostOverride> overrides;
  platform::Log log;
  Observation& observation;
  config::LimitSettings limits = {};
  platform::Milliseconds disable_after{};                 // delivery.disable_after
  std::vector<platform::IpNetwork> hidden_networks = {};  // addresses in these are shown to no entity
  config::ContactSettings contact = {};
  bool sends_mail = false;  // mail.server is set
};

/// One per thread; it owns the thread's database session.
class Service : public Responder {
 public:
  /// All threads share `shared`, `callers` and `places`, which must outlive this object.
  Service(const Shared& shared, CallerLookup& callers, RequestPlaces& places, store::Session session);

  /// Closes the session if it was not used for 30 s. That frees a few kilobytes per prepared statement in
  /// this process and at the database.
  void rest() override;

  /// Does not throw for errors of a client or of the database: every failure becomes a response.
  std::optional<Response> respond(Request& request) override;
  Response refuse(const Request& request) override;

 private:
  /// The fields of the access log, filled in as they become known. The log shows the route's pattern, never
  /// the path, which is the client's text.
  struct AccessLogEntry {
    Request& request;
    Match match;
  };

  std::optional<Response> respond_to_client(Request& request);
  Response respond_to_balancer(std::string_view method);
  Response respond_to_mail_link(const Request& request);
  bool database_works(DatabaseCheck check);
  std::optional<Response> answer(AccessLogEntry& entry);
  std::optional<Response> perform(AccessLogEntry& entry);
  void add_rate_limit(const AccessLogEntry& entry, Response& response);
  bool enter(Request& request);
  store::Caller authenticate(const AccessLogEntry& entry);
  std::optional<store::Caller> find_caller(const Route* route, const store::TokenHash& hash);
  void record(const Request& request, const Match& match, int status) const;

  const Shared& shared_;
  CallerLookup& callers_;
  RequestPlaces& places_;
  platform::Log log_;
  store::Session session_;  // for all statements but the look-ups of callers that threads share
};

/// Whether the type is `application/json` with any parameters (RFC 9110 section 8.3.1); ignores case. Pure.
bool is_json(std::string_view content_type);
/// The same for `application/merge-patch+json` (RFC 7396).
bool is_merge_patch(std::string_view content_type);

}  // namespace api
