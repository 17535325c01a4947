// The answer to an entity that has used up a quota (web/docs/limites.md).
#pragma once

#include "fcgi-app/http/errors.hpp"
#include "lib/config/config.hpp"
#include "lib/store/quotas/quotas.hpp"

namespace api {

/// With the fields of rate_limit().
TooManyRequests over_quota(const store::OverQuota& refused, const config::LimitSettings& limits);

}  // namespace api
