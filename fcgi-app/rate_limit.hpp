// What is left of the quotas of an entity (web/docs/limites.md): in the header fields RateLimit-Policy and
// RateLimit (draft-ietf-httpapi-ratelimit-headers-10), and as GET /entidad shows it. nginx adds the policies
// of its own limits to the fields.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fcgi-app/http/http.hpp"
#include "lib/config/config.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace api {

/// A limit of the entity, and what is left of it (GET /entidad).
struct LimitNow {
  std::string_view name;
  std::uint64_t limit;
  std::uint64_t left;
  std::optional<unsigned> window_s;  // `limit` may be used in this time; unset: at once
  std::optional<unsigned> more_s;    // until there is more, 0: all is left; unset: no time gives it back
};
/// The entity's limits in force, with those of its webhooks and its pending tests. The names are those of
/// rate_limit(). nginx's limits are not among them: only nginx counts them. Throws what Session::query()
/// throws.
std::vector<LimitNow> read_limits(store::Session& session, const store::Caller& caller,
                                  const config::LimitSettings& limits);

/// `left` of the quota may be used now, and more in `more_s` seconds. Empty if the quota has no limit, or is
/// no number in a time (pending_tests).
std::vector<Header> rate_limit(store::Quota quota, std::uint64_t left, unsigned more_s,
                               const config::LimitSettings& limits);

/// The same for a quota with a bucket, as the database has it. Throws what Session::query() throws.
std::vector<Header> read_rate_limit(store::Session& session, store::EntityId entity, store::Quota quota,
                                    const config::LimitSettings& limits);

}  // namespace api
