#include "fcgi-app/service.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/query.hpp"
#include "fcgi-app/http/response.hpp"
#include "fcgi-app/over_quota.hpp"
#include "fcgi-app/rate_limit.hpp"
#include "fcgi-app/unsubscribe_page.hpp"
#include "lib/contacts/codes.hpp"
#include "lib/store/contacts/confirmation.hpp"
#include "lib/store/session/repeat_if_lost.hpp"
#include "lib/store/session/requirements.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/access_token.hpp"
#include "lib/webhook/request_bodies.hpp"

namespace api {
namespace {

/// Refuses a request without its whole body. As in nginx, this check comes before all others.
void require_body(BodyState state) {
  if (state == BodyState::too_large) throw ContentTooLarge();
  if (state == BodyState::malformed) throw BadRequest("El cuerpo de la petición llegó incompleto");
}

const Route& require_route(const Match& match) {
  if (match.pattern.empty()) throw NotFound("No existe ningún recurso en esa ruta");
  if (match.route == nullptr) throw MethodNotAllowed(match.allow);
  return *match.route;
}

std::string_view query_of(std::string_view target) {
  const auto mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

/// Whether the route changes nothing, so that it may be repeated (RFC 9110 section 9.2.1).
bool is_read(const Route& route) { return route.method == "GET"; }

void require_readable_body(const Request& request, const Route& route) {
  const bool patches = route.method == "PATCH";
  if (!patches && route.method != "PUT" && (route.method != "POST" || route.no_body)) return;
  if (!is_json(request.content_type)) {
    if (!patches) throw UnsupportedMediaType();
    if (!is_merge_patch(request.content_type)) throw UnsupportedMediaType::of_patch();
  }
  if (!request.content_encoding) return;
  const auto coding = text::trim(*request.content_encoding, text::http_white_space);
  if (!coding.empty() && !text::equal_ignoring_case(coding, "identity"))
    throw UnsupportedMediaType::of_coding();
}

/// Refuses a change with conditions that the route does not support; a read ignores them. No response has a
/// Last-Modified, so If-Unmodified-Since cannot be checked. It is accepted only together with If-Match, which
/// overrides it (RFC 9110 section 13.1.4).
void require_supported(const Preconditions& conditions, const Route& route) {
  if (is_read(route)) return;
  if (conditions.if_match && !route.has_etag) throw PreconditionFailed::not_supported("If-Match");
  if (conditions.if_none_match && !route.has_etag) throw PreconditionFailed::not_supported("If-None-Match");
  if (conditions.if_unmodified_since && !conditions.if_match)
    throw PreconditionFailed::not_supported("If-Unmodified-Since");
}

void require_accepted_query(std::string_view query, const Route& route) {
  if (route.query == QueryString::refused) refuse_parameters(query);
}

bool is_type(std::string_view content_type, std::string_view type) {
  const auto bare = content_type.substr(0, content_type.find(';'));
  return text::equal_ignoring_case(text::trim(bare, text::http_white_space), type);
}

void log_failure(const platform::Log& log, std::string_view message, const Request& request,
                 const std::exception& e) {
  log.error(message, {{"request", request.id}, {"error", e.what()}});
}

std::chrono::microseconds duration_of(const Request& request) {
  return std::chrono::duration_cast<std::chrono::microseconds>(platform::monotonic_now() - request.arrived);
}

}  // namespace

bool is_json(std::string_view content_type) { return is_type(content_type, "application/json"); }
bool is_merge_patch(std::string_view content_type) {
  return is_type(content_type, "application/merge-patch+json");
}

Service::Service(const Shared& shared, CallerLookup& callers, RequestPlaces& places, store::Session session)
    : shared_(shared), callers_(callers), places_(places), log_(shared.log), session_(std::move(session)) {}

void Service::rest() {
  constexpr std::chrono::seconds kept(30);
  if (session_.connected() && platform::monotonic_now() - session_.last_used() >= kept) session_.disconnect();
}

std::optional<Response> Service::respond(Request& request) {
  switch (request.purpose) {
    case Purpose::health:
      return respond_to_balancer(request.method);
    case Purpose::metrics:
      return Response{200, shared_.observation.metrics.text(), {}, prometheus_text_type};
    case Purpose::unsubscribe: {
      auto response = respond_to_mail_link(request);
      shared_.observation.metrics.count_mail_link(response.status, duration_of(request));
      return response;
    }
    case Purpose::api:
      break;
  }
  return respond_to_client(request);
}

/// Answers only whether the service works, in the same way for every client.
Response Service::respond_to_balancer(std::string_view method) {
  if (method != "GET" && method != "HEAD") return error_response(MethodNotAllowed("GET, HEAD"));
  const bool good = shared_.observation.health.good(
      platform::monotonic_now(), [this](DatabaseCheck check) { return database_works(check); });
  return good ? message_response(200, "El servicio está disponible") : error_response(ServiceUnavailable());
}

/// The link of a mail, which needs no token. A link that is not ours costs no statement. The answer is the
/// same whether or not the contact exists.
Response Service::respond_to_mail_link(const Request& request) {
  const bool changes = request.method == "POST";
  if (!changes && request.method != "GET" && request.method != "HEAD")
    return error_response(MethodNotAllowed("GET, HEAD, POST"));
  const auto keys = shared_.keys.current();
  const auto link = contacts::read_unsubscribe_token(*keys, unsubscribe_token_in(query_of(request.target)),
                                                     platform::utc_now());
  if (!link) return unsubscribe_page(UnsubscribePage::invalid);
  if (!changes) return unsubscribe_page(UnsubscribePage::question);
  try {
    store::unsubscribe(session_, *link, *keys);
    return unsubscribe_page(UnsubscribePage::done);
  } catch (const std::exception& e) {
    log_failure(log_, "notices not ended", request, e);
    return unsubscribe_page(UnsubscribePage::unavailable);
  }
}

bool Service::database_works(DatabaseCheck check) {
  try {
    switch (check) {
      case DatabaseCheck::requirements:
        store::require_server(session_);
        break;
      case DatabaseCheck::read:
        callers_.find({});  // no token has this hash
        break;
      case DatabaseCheck::write:
        store::try_write(session_);
        break;
    }
    return true;
  } catch (const std::exception& e) {
    log_.warning("health check failed: the database cannot be used", {{"error", e.what()}});
    return false;
  }
}

Response Service::refuse(const Request& request) {
  record(request, match_route(request.method, request.target), TooManyInCourse::code);
  return error_response(TooManyInCourse());
}

std::optional<Response> Service::respond_to_client(Request& request) {
  ++shared_.observation.busy;
  AccessLogEntry entry{request, match_route(request.method, request.target)};
  auto response = answer(entry);
  if (response) add_rate_limit(entry, *response);
  --shared_.observation.busy;
  if (response) record(request, entry.match, response->status);
  return response;
}

std::optional<Response> Service::answer(AccessLogEntry& entry) {
  try {
    return perform(entry);
  } catch (const HttpError& e) {
    return error_response(e);
  } catch (const webhook::InvalidRequest& e) {
    return error_response(BadRequest(e.what()));
  } catch (const store::OverQuota& e) {
    return error_response(over_quota(e, shared_.limits));
  } catch (const store::Unavailable& e) {
    log_failure(log_, "database unavailable", entry.request, e);
    return error_response(ServiceUnavailable());
  } catch (const store::Conflict& e) {  // nothing has changed, and the client may retry
    log_failure(log_, "database conflict", entry.request, e);
    return error_response(ServiceUnavailable());
  } catch (const std::exception& e) {
    log_failure(log_, "request failed", entry.request, e);
    return error_response(InternalError());
  }
}

/// Adds to a success what is left of the quota; a 429 has it already. The change is committed, so a failure
/// here leaves out the fields only.
void Service::add_rate_limit(const AccessLogEntry& entry, Response& response) {
  const auto& [request, match] = entry;
  const bool success = response.status / 100 == 2;
  if (!success || !match.route->quota) return;
  try {
    std::ranges::move(read_rate_limit(session_, request.entity.value(), *match.route->quota, shared_.limits),
                      std::back_inserter(response.headers));
  } catch (const std::exception& e) {
    log_failure(log_, "rate limit not read", request, e);
  }
}

/// Counts the request among those of its entity that run now, unless it is counted. False: the entity is at
/// its limit.
bool Service::enter(Request& request) {
  if (!request.has_place) request.has_place = places_.enter(request.entity.value());
  return request.has_place;
}

std::optional<Response> Service::perform(AccessLogEntry& entry) {
  Request& request = entry.request;
  require_body(request.body_state);
  const store::Caller caller = authenticate(entry);
  request.entity = caller.id;
  request.token = caller.token;
  if (!enter(request)) return std::nullopt;
  const Route& route = require_route(entry.match);
  if (caller.read_only && !is_read(route)) throw ReadOnlyToken();
  require_readable_body(request, route);
  require_supported(request.preconditions, route);
  const auto query = query_of(request.target);
  require_accepted_query(query, route);
  const auto keys = shared_.keys.current();
  const Call call{caller,
                  entry.match.parameters,
                  query,
                  request.body,
                  session_,
                  *keys,
                  shared_.overrides,
                  shared_.limits,
                  shared_.disable_after,
                  request.preconditions,
                  request.idempotency_key,
                  shared_.hidden_networks,
                  shared_.contact,
                  shared_.sends_mail};
  if (!is_read(route)) return route.handler(call);
  return store::repeat_if_lost(session_, [&] { return route.handler(call); });
}

store::Caller Service::authenticate(const AccessLogEntry& entry) {
  const Request& request = entry.request;
  const webhook::Credentials credentials = webhook::parse_authorization(request.authorization);
  if (!credentials.present) throw Unauthorized::no_credentials();
  if (!credentials.hash) throw Unauthorized::invalid_token();
  auto caller = find_caller(entry.match.route, *credentials.hash);
  if (!caller) throw Unauthorized::invalid_token();
  return std::move(*caller);
}

/// A read, or a request without a route, shares its look-up with others at the same time. A write has its
/// own.
std::optional<store::Caller> Service::find_caller(const Route* route, const store::TokenHash& hash) {
  if (route == nullptr || is_read(*route)) return callers_.find(hash);
  return callers_.find_alone(session_, hash, route->caller_with);
}

/// Any client can send requests without a valid token, so these are counted by the metrics, and logged at the
/// level debug alone. nginx samples them in its access log.
void Service::record(const Request& request, const Match& match, int status) const {
  constexpr std::size_t longest_method = 32;
  Observation& seen = shared_.observation;
  const auto duration = duration_of(request);
  seen.metrics.count_request(match, status, duration);
  ++seen.answered;
  const std::string_view route = match.pattern;
  const auto log = status == Unauthorized::code ? &platform::Log::debug : &platform::Log::info;
  (log_.*log)("request", {{"request", request.id},
                          {"method", std::string_view(request.method).substr(0, longest_method)},
                          {"route", route.empty() ? "-" : route},
                          {"status", status},
                          {"entity", request.entity ? to_string(*request.entity) : "-"},
                          {"token_id", request.token ? to_string(*request.token) : "-"},
                          {"duration_us", duration.count()}});
}

}  // namespace api
