#include "admin/output/nginx_limits.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/text/text.hpp"

namespace admin {

namespace {

using platform::LimitSettings;

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

constexpr unsigned fewest_connections = 4096;

/// The number that follows the directive's name, outside of comments; 0 if there is none.
unsigned number_of(std::string_view nginx_conf, std::string_view directive) {
  for (std::string_view rest = nginx_conf; !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    line = line.substr(0, line.find('#'));
    const auto at = line.find(directive);
    if (at == std::string_view::npos) continue;
    const auto value = line.substr(at + directive.size());
    return text::parse_number<unsigned>(text::trim(value.substr(0, value.find(';')))).value_or(0);
  }
  return 0;
}

}  // namespace

std::string nginx_connections_note(std::string_view nginx_conf) {
  const unsigned connections = number_of(nginx_conf, "worker_connections");
  const unsigned descriptors = number_of(nginx_conf, "worker_rlimit_nofile");
  if (connections >= fewest_connections && descriptors >= 2 * connections) return {};
  return "nginx: worker_connections is " + std::to_string(connections) + " and worker_rlimit_nofile " +
         (descriptors > 0 ? std::to_string(descriptors) : "not set") +
         ", so a few slow clients could hold all connections: set worker_connections to 4096 or more, and "
         "worker_rlimit_nofile to twice as many, in /etc/nginx/nginx.conf";
}

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
  return text + wait_map(limits);
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
