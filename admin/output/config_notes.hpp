// What `config check` advises, although the programs work without it. Each note is one line, or empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/platform/ip.hpp"

namespace admin {

/// For an nginx.conf that has too few connections for slow clients and others beside them.
std::string nginx_connections_note(std::string_view nginx_conf);

/// For a configuration that sends nothing but to the hosts of delivery.sandbox.
std::string sandbox_note(const config::DeliverySettings& settings);

/// For a host with a public address that lists no address of the operator's other hosts.
std::string denied_networks_note(const config::DeliverySettings& settings,
                                 const std::vector<platform::IpAddress>& own);

/// For a configuration without mail.server.
std::string mail_note(const config::MailSettings& settings);

}  // namespace admin
