// Writes limits.* for nginx, which cannot read our configuration.
#pragma once

#include <string>

#include "lib/platform/config/config.hpp"

namespace admin {

/// The zones, and $apientidades_limit_wait, the seconds until another request is accepted; for http {}. A
/// limit of N a minute is a bucket of N requests that fills again in a minute, so N may come at the same
/// time. The keys are those of nginx/snippets/apientidades-limit-keys.conf. A limit of 0 has no line.
std::string nginx_limit_zones(const platform::LimitSettings& limits);

/// The limits for the API's location.
std::string nginx_limits(const platform::LimitSettings& limits);

}  // namespace admin
