#include "fcgi-app/routes.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace api {
namespace {

using enum QueryString;
using enum store::CallerWith;
using enum store::Quota;

constexpr std::array<Route, 27> table{{
    {"GET", "/entidad", show_entity},
    {"GET", "/entidad/contactos", list_contacts},
    {"PUT", "/entidad/contactos", replace_contacts, refused, changes, false, nothing_else},
    {"POST", "/entidad/contactos/{numero}/codigo", ask_contact_code, refused, contact_codes, true,
     nothing_else},
    {"POST", "/entidad/contactos/{numero}/confirmacion", confirm_contact, refused, {}, false, nothing_else},
    {"GET", "/actividad", list_activity, accepted},
    {"GET", "/entregas", list_entity_deliveries, accepted},
    {"GET", "/reenvios", list_replays, accepted},
    {"GET", "/webhooks", list_webhooks, accepted},
    {"POST", "/webhooks", register_webhook, accepted, registrations, false, nothing_else},
    {"GET", "/webhooks/eventos", list_events, accepted},
    {"POST", "/webhooks/test", test_event, accepted, test_bytes},
    {"GET", "/webhooks/{id}", show_webhook},
    {"PATCH", "/webhooks/{id}", change_webhook, refused, changes, false, webhooks, true},
    {"DELETE", "/webhooks/{id}", delete_webhook, accepted, {}, false, nothing_else, true},
    {"PUT", "/webhooks/{id}/secreto", change_secret, refused, changes},
    {"DELETE", "/webhooks/{id}/secreto/anterior", end_grace},
    {"POST", "/webhooks/{id}/prueba", test_webhook, refused, test_bytes},
    {"GET", "/webhooks/{id}/entregas", list_deliveries, accepted},
    {"GET", "/webhooks/{id}/entregas/{entrega}", show_delivery},
    {"POST", "/webhooks/{id}/entregas/{entrega}/reenvio", replay_delivery, refused, {}, true},
    {"POST", "/webhooks/{id}/reenvios", replay_deliveries, refused, replay_requests},
    {"GET", "/webhooks/{id}/reenvios/{reenvio}", show_replay},
    {"DELETE", "/webhooks/{id}/reenvios/{reenvio}", stop_replay},
    {"GET", "/webhooks/{id}/estadisticas", show_statistics, accepted},
    {"GET", "/webhooks/{id}/diagnostico", show_diagnosis},
    {"POST", "/webhooks/{id}/diagnostico", ask_diagnosis, refused, diagnostics, true},
}};

/// The path below base_path; nullopt for a path outside it.
std::optional<std::string_view> local_path(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (!path.starts_with(base_path)) return std::nullopt;
  return path.substr(base_path.size());
}

/// Removes and returns the text before the next slash; removes the slash too.
std::string_view take_segment(std::string_view& path) {
  const auto end = std::min(path.find('/'), path.size());
  const auto segment = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return segment;
}

/// Returns the path's segments that stand for a `{…}` of the pattern, in order; unused parameters are empty.
/// Returns nullopt when the path does not match.
std::optional<PathParameters> fit(std::string_view pattern, std::string_view path) {
  if (std::ranges::count(pattern, '/') != std::ranges::count(path, '/')) return std::nullopt;
  PathParameters parameters;
  std::size_t known = 0;
  while (!pattern.empty()) {
    const auto expected = take_segment(pattern);
    const auto segment = take_segment(path);
    if (!expected.starts_with('{')) {
      if (segment != expected) return std::nullopt;
    } else {
      if (segment.empty()) return std::nullopt;
      parameters.at(known++) = segment;
    }
  }
  return path.empty() ? std::optional(parameters) : std::nullopt;
}

std::string allowed_methods(std::string_view pattern) {
  std::string methods;
  for (const Route& route : table) {
    if (route.pattern != pattern) continue;
    if (!methods.empty()) methods += ", ";
    methods += route.method;
    if (route.method == "GET") methods += ", HEAD";
  }
  return methods;
}

}  // namespace

std::span<const Route> routes() { return table; }

Match match_route(std::string_view method, std::string_view target) {
  const auto path = local_path(target);
  if (!path) return {};
  if (method == "HEAD") method = "GET";
  for (const Route& candidate : table) {
    const auto parameters = fit(candidate.pattern, *path);
    if (!parameters) continue;
    const auto* route = std::find_if(table.begin(), table.end(), [&](const Route& r) {
      return r.pattern == candidate.pattern && r.method == method;
    });
    if (route == table.end())
      return {nullptr, candidate.pattern, *parameters, allowed_methods(candidate.pattern)};
    return {route, candidate.pattern, *parameters, {}};
  }
  return {};
}

}  // namespace api
