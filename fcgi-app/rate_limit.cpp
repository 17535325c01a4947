#include "fcgi-app/rate_limit.hpp"

#include <string>
#include <string_view>

namespace api {
namespace {

struct Policy {
  std::string_view name;
  std::uint64_t limit;
  std::string_view unit = {};  // empty: requests
};

Policy policy_of(store::Quota quota, const config::LimitSettings& limits) {
  switch (quota) {
    case store::Quota::registrations:
    case store::Quota::changes:
      return {"cambios", limits.registrations};
    case store::Quota::replay_requests:
      return {"reenvios", limits.replay_requests};
    case store::Quota::diagnostics:
      return {"diagnosticos", limits.diagnostics};
    case store::Quota::test_bytes:
      return {"bytes-de-prueba", limits.test_bytes, ";qu=\"content-bytes\""};
    case store::Quota::replayed:
      return {"reenviadas", limits.replayed};
    case store::Quota::pending_tests:
      break;  // a number at once, which no time gives back
  }
  return {};
}

}  // namespace

std::vector<Header> rate_limit(store::Quota quota, std::uint64_t left, unsigned more_s,
                               const config::LimitSettings& limits) {
  const auto policy = policy_of(quota, limits);
  if (policy.limit == 0) return {};
  const std::string name = '"' + std::string(policy.name) + '"';
  std::string allowed = name + ";q=" + std::to_string(policy.limit);
  allowed.append(policy.unit).append(";w=").append(std::to_string(store::window_s(quota)));
  return {{"RateLimit-Policy", allowed},
          {"RateLimit", name + ";r=" + std::to_string(left) + ";t=" + std::to_string(more_s)}};
}

std::vector<Header> read_rate_limit(store::Session& session, store::EntityId entity, store::Quota quota,
                                    const config::LimitSettings& limits) {
  const auto limit = policy_of(quota, limits).limit;
  if (limit == 0) return {};
  const auto level = store::level_of(session, quota, entity, limit);
  return rate_limit(quota, level.left, level.more_s, limits);
}

}  // namespace api
