// The header fields RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10): what is left of
// a quota of the entity (web/docs/limites.md). nginx adds the policies of its own limits.
#pragma once

#include <vector>

#include "fcgi-app/http/http.hpp"
#include "lib/config/config.hpp"
#include "lib/store/quotas/quotas.hpp"

namespace api {

/// `left` of the quota may be used now, and more in `more_s` seconds. Empty if the quota has no limit, or is
/// no number in a time (pending_tests).
std::vector<Header> rate_limit(store::Quota quota, std::uint64_t left, unsigned more_s,
                               const config::LimitSettings& limits);

/// The same for a quota with a bucket, as the database has it. Throws what Session::query() throws.
std::vector<Header> read_rate_limit(store::Session& session, store::EntityId entity, store::Quota quota,
                                    const config::LimitSettings& limits);

}  // namespace api
