// Writes limits.* for nginx, which cannot read our configuration.
#pragma once

#include <string>

#include "lib/config/config.hpp"

namespace admin {

/// For http {}: the zones, and the variable $apientidades_limit_wait. The variable is the number of seconds
/// until nginx accepts a request again once a limit is used up. With a limit of N a minute, N requests may
/// come at the same time, and one more every 60/N seconds. nginx/snippets/apientidades-limit-keys.conf
/// defines the zones' keys. A limit of 0 has no line.
std::string nginx_limit_zones(const config::LimitSettings& limits);

/// The limits for the API's location.
std::string nginx_limits(const config::LimitSettings& limits);

}  // namespace admin
