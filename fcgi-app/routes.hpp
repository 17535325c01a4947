// The whole API as one table of routes (web/docs/referencia.md), and which of them a request means. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fcgi-app/handlers/handlers.hpp"

namespace api {

inline constexpr std::string_view base_path = "/apientidades/v1";

struct Route {
  std::string_view method;
  std::string_view pattern;  // below base_path; `{id}` and the like stand for one non-empty segment each
  Handler handler;
  bool no_body = false;  // of a POST: whatever it carries is not looked at
  store::CallerWith caller_with =
      store::CallerWith::webhooks;  // of one that writes: what is read of the caller
  bool has_etag = false;            // of one that writes: its handler honours If-Match and If-None-Match
};

/// Where two patterns fit a path, the one that comes first is meant: literals before `{id}`.
std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;  // of the table; nullptr when the path is unknown or does not take the method
  std::string_view pattern;      // empty: unknown path
  PathParameters parameters;     // the segments that the pattern leaves open: views of the target
  std::string allow;             // the methods of a path that does not take this one: "GET, POST"
};

/// The path is compared as it was sent, byte by byte: an encoded, doubled or trailing slash, a dot segment or
/// another spelling of a literal is another path. The query string is no part of it.
Match match_route(std::string_view method, std::string_view target);

}  // namespace api
