#include "fcgi-app/rate_limit.hpp"

#include <string>
#include <string_view>

#include "lib/webhook/limits.hpp"

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
    case store::Quota::contact_codes:
      return {"codigos-de-confirmacion", limits.contact_codes};
    case store::Quota::test_bytes:
      return {"bytes-de-prueba", limits.test_bytes, ";qu=\"content-bytes\""};
    case store::Quota::replayed:
      return {"reenviadas", limits.replayed};
    case store::Quota::pending_tests:     // a number at once, which no time gives back
    case store::Quota::codes_to_address:  // of an address, not of the entity
      break;
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

std::vector<LimitNow> read_limits(store::Session& session, const store::Caller& caller,
                                  const config::LimitSettings& limits) {
  using enum store::Quota;
  const std::uint64_t webhooks = webhook::max_webhooks_per_entity;
  std::vector<LimitNow> result{{"webhooks", webhooks, webhooks - caller.webhooks.size(), {}, {}}};
  const auto add = [&](store::Quota quota, std::uint64_t left, unsigned more_s) {
    const auto policy = policy_of(quota, limits);
    result.push_back({policy.name, policy.limit, left, store::window_s(quota), more_s});
  };
  for (const auto quota : {changes, replay_requests, diagnostics, contact_codes, test_bytes}) {
    const auto limit = policy_of(quota, limits).limit;
    if (limit == 0) continue;
    const auto level = store::level_of(session, quota, caller.id, limit);
    add(quota, level.left, level.more_s);
  }
  if (limits.replayed > 0) {
    const auto quota = store::replays_left(session, caller.id, limits.replayed);
    add(replayed, quota.left, quota.left == quota.limit ? 0 : quota.retry_after_s);
  }
  if (const std::uint64_t most = limits.pending_test_deliveries; most > 0)
    result.push_back({"pruebas-sin-terminar",
                      most,
                      store::peek_pending_tests_left(session, caller.id, most).left,
                      {},
                      {}});
  return result;
}

std::vector<Header> read_rate_limit(store::Session& session, store::EntityId entity, store::Quota quota,
                                    const config::LimitSettings& limits) {
  const auto limit = policy_of(quota, limits).limit;
  if (limit == 0) return {};
  const auto level = store::level_of(session, quota, entity, limit);
  return rate_limit(quota, level.left, level.more_s, limits);
}

}  // namespace api
