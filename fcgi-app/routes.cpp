#include "fcgi-app/routes.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace api {
namespace {

constexpr std::string_view placeholder = "{id}";

constexpr std::array<Route, 5> table{{
    {"GET", "/webhooks", list_webhooks},
    {"POST", "/webhooks", register_webhook},
    {"GET", "/webhooks/eventos", list_events},
    {"POST", "/webhooks/test", test_event},
    {"DELETE", "/webhooks/{id}", delete_webhook},
}};

/// The path below base_path; nullopt when it is not below it.
std::optional<std::string_view> local_path(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(base_path)) return std::nullopt;
  return path.substr(base_path.size());
}

/// What `{id}` stands for (empty for a literal pattern); nullopt when the path does not fit.
std::optional<std::string_view> fit(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with(placeholder))
    return pattern == path ? std::optional<std::string_view>("") : std::nullopt;
  const std::string_view prefix = pattern.substr(0, pattern.size() - placeholder.size());
  if (!path.starts_with(prefix)) return std::nullopt;
  const std::string_view segment = path.substr(prefix.size());
  if (segment.empty() || segment.find('/') != std::string_view::npos) return std::nullopt;
  return segment;
}

std::string allowed_methods(std::string_view pattern) {
  std::string methods;
  for (const Route& route : table) {
    if (route.pattern != pattern) continue;
    if (!methods.empty()) methods += ", ";
    methods += route.method;
  }
  return methods;
}

}  // namespace

std::span<const Route> routes() { return table; }

Match match_route(std::string_view method, std::string_view target) {
  const auto path = local_path(target);
  if (!path) return {};
  for (const Route& candidate : table) {
    const auto parameter = fit(candidate.pattern, *path);
    if (!parameter) continue;
    const auto* route = std::find_if(table.begin(), table.end(), [&](const Route& r) {
      return r.pattern == candidate.pattern && r.method == method;
    });
    if (route == table.end())
      return {nullptr, candidate.pattern, *parameter, allowed_methods(candidate.pattern)};
    return {route, candidate.pattern, *parameter, {}};
  }
  return {};
}

}  // namespace api
