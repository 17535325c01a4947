#include "admin/output/nginx_limits.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace admin {

namespace {

using config::LimitSettings;

constexpr unsigned most_concurrent = 65535;  // nginx refuses more
/// One IPv6 /48, which a client can have to itself, may do as much as this many addresses.
constexpr unsigned addresses_per_site = 4;
/// One in so many of an address's requests may have a body at the same time, because a slow body holds a
/// connection for as long as its client likes.
constexpr unsigned requests_per_body = 4;

constexpr std::string_view header =
    "# Written by `apientidades-admin nginx limits` from limits.* of the configuration; changes belong "
    "there.\n";

struct Rate {
  std::string_view key;
  std::string_view zone;
  unsigned a_minute;
};

/// The limit per address comes first, so that a request that it refuses adds no entry to the zones of tokens.
std::array<Rate, 4> rates(const LimitSettings& limits) {
  return {{{"$apientidades_network", "apientidades_address", limits.requests_per_address},
           {"$apientidades_site", "apientidades_site", addresses_per_site * limits.requests_per_address},
           {"$apientidades_token", "apientidades_token", limits.requests_per_token},
           {"$apientidades_test_token", "apientidades_test", limits.test_requests_per_token}}};
}

struct Count {
  std::string_view key;
  std::string_view zone;
  unsigned at_once;
};

std::array<Count, 4> counts(const LimitSettings& limits) {
  const unsigned at_once = std::min(limits.concurrent_requests_per_address, most_concurrent);
  const unsigned bodies = (at_once + requests_per_body - 1) / requests_per_body;
  const auto of_site = [](unsigned count) { return std::min(addresses_per_site * count, most_concurrent); };
  return {{{"$apientidades_network", "apientidades_concurrent", at_once},
           {"$apientidades_site", "apientidades_site_concurrent", of_site(at_once)},
           {"$apientidades_sender", "apientidades_bodies", bodies},
           {"$apientidades_sending_site", "apientidades_site_bodies", of_site(bodies)}}};
}

/// Seconds until nginx accepts a request again once the limit is used up. nginx counts in thousandths of a
/// request per second, rounded down.
unsigned wait(unsigned a_minute) {
  if (a_minute == 0) return 1;
  const unsigned thousandths = a_minute * 1000ULL / 60;
  return (1000 + thousandths - 1) / thousandths;
}

std::string wait_map(const LimitSettings& limits) {
  const unsigned usual = std::max(wait(limits.requests_per_address), wait(limits.requests_per_token));
  const unsigned test = std::max(usual, wait(limits.test_requests_per_token));
  return "map $apientidades_test_token $apientidades_limit_wait {\n    \"\"      " + std::to_string(usual) +
         ";\n    default " + std::to_string(test) + ";\n}\n";
}

/// For the field RateLimit-Policy of every answer (draft-ietf-httpapi-ratelimit-headers-10): nginx cannot say
/// what is left.
std::string policy_map(const LimitSettings& limits) {
  std::string policies;
  for (const auto& [name, a_minute] :
       {std::pair("direccion", limits.requests_per_address), std::pair("token", limits.requests_per_token),
        std::pair("pruebas", limits.test_requests_per_token)}) {
    if (a_minute == 0) continue;
    if (!policies.empty()) policies += ", ";
    policies.append("\"").append(name).append("\";q=").append(std::to_string(a_minute)).append(";w=60");
  }
  return "map \"\" $apientidades_rate_policy {\n    default '" + policies + "';\n}\n";
}

}  // namespace

std::string nginx_limit_zones(const LimitSettings& limits) {
  std::string text(header);
  for (const auto& [key, zone, a_minute] : rates(limits)) {
    if (a_minute == 0) continue;
    text.append("limit_req_zone ").append(key).append(" zone=").append(zone);
    text += ":10m rate=" + std::to_string(a_minute) + "r/m;\n";
  }
  for (const auto& [key, zone, at_once] : counts(limits)) {
    if (at_once > 0)
      text.append("limit_conn_zone ").append(key).append(" zone=").append(zone).append(":10m;\n");
  }
  return text + wait_map(limits) + policy_map(limits);
}

std::string nginx_limits(const LimitSettings& limits) {
  std::string text(header);
  // The level info keeps a flood out of the error log; the access log shows the refused requests.
  text +=
      "limit_req_status     429;\nlimit_conn_status    429;\n"
      "limit_req_log_level  info;\nlimit_conn_log_level info;\n";
  for (const auto& [key, zone, a_minute] : rates(limits)) {
    if (a_minute == 0) continue;
    text.append("limit_req zone=").append(zone);
    if (a_minute > 1) text += " burst=" + std::to_string(a_minute - 1) + " nodelay";  // nginx refuses burst=0
    text += ";\n";
  }
  for (const auto& [key, zone, at_once] : counts(limits)) {
    if (at_once > 0)
      text.append("limit_conn ").append(zone).append(" ").append(std::to_string(at_once)).append(";\n");
  }
  return text;
}

}  // namespace admin
