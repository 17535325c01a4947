// limits.* as nginx reads them: it cannot read our configuration, so `nginx limits` writes these for it.
#pragma once

#include <string>

#include "lib/platform/config.hpp"

namespace admin {

/// A limit of N a minute is a bucket of N requests that fills again in a minute: N may come at once.
/// The keys are those of nginx/snippets/apientidades-limit-keys.conf. Limits of 0 have no line.

/// For http {}: the zones, and $apientidades_limit_wait, the seconds after which another request is accepted.
std::string nginx_limit_zones(const platform::LimitSettings& limits);
/// For the location of the API.
std::string nginx_limits(const platform::LimitSettings& limits);

}  // namespace admin
