// The API as one table of routes (web/docs/referencia.md), and the route of a request. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fcgi-app/handlers/handlers.hpp"
#include "lib/store/quotas/quotas.hpp"

namespace api {

inline constexpr std::string_view base_path = "/apientidades/v1";

/// Whether a request may have parameters in its query string. If it may, the handler reads or
/// ignores them.
enum class QueryString { refused, accepted };

struct Route {
  std::string_view method;
  std::string_view pattern;  // below base_path; `{id}` and the like match one non-empty segment
  Handler handler;
  QueryString query = QueryString::refused;
  /// The bucket that can refuse the request: a success says what is left in it.
  std::optional<store::Quota> quota = std::nullopt;
  bool no_body = false;  // for a POST: its body is ignored
  /// What Service reads together with the caller when the route changes something. For a GET, Service always
  /// reads the caller's webhooks too.
  store::CallerWith caller_with = store::CallerWith::webhooks;
  bool has_etag = false;  // the handler of a write checks If-Match and If-None-Match
};

/// The table. If two patterns match a path, the first applies: literals come before `{id}`.
std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;  // nullptr when the path is unknown or does not accept the method
  std::string_view pattern;      // empty: unknown path
  PathParameters parameters;     // views of the target
  std::string allow;             // if the method is not accepted, the accepted methods: "GET, POST"
};

/// Compares the path as it was sent, byte by byte: an encoded, doubled or trailing slash, a dot segment or
/// another spelling of a literal makes another path. Ignores the query string. HEAD has the route of GET (RFC
/// 9110 section 9.3.2): only the answer's body is left out (fastcgi.cpp).
Match match_route(std::string_view method, std::string_view target);

}  // namespace api
