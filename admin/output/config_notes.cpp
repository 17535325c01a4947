#include "admin/output/config_notes.hpp"

#include <algorithm>

#include "lib/text/text.hpp"
#include "lib/webhook/address_policy.hpp"

namespace admin {

namespace {

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

std::string sandbox_note(const config::DeliverySettings& settings) {
  if (settings.sandbox.empty()) return {};
  return "SANDBOX: delivery.sandbox is set, so deliveries to other hosts end as entregada without being "
         "sent: "
         "empty it where entities must get their notifications";
}

std::string denied_networks_note(const config::DeliverySettings& settings,
                                 const std::vector<platform::IpAddress>& own) {
  const auto found = std::ranges::find_if(own, webhook::is_public_address);
  if (!settings.denied_networks.empty() || found == own.end()) return {};
  return "delivery.denied_networks is empty, and this host has the public address " + found->to_string() +
         ": list the addresses of your other hosts there, because webhooks could reach them from here";
}

std::string mail_note(const config::MailSettings& settings) {
  if (!settings.server.empty()) return {};
  return "mail.server is empty: no contact is told that a webhook fails or is deactivated";
}

}  // namespace admin
