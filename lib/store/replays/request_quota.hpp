// The quota limits.replay_requests: how often an entity may ask for the replay of a range or for its count. A
// bucket of N that fills again in an hour, stored as one time beside that of registrations (`altas_webhook`).
// The same for limits.diagnostics.
#pragma once

#include <optional>
#include <stdexcept>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The entity has used up the quota; the next request is allowed after `retry_after_s` seconds.
struct TooManyReplayRequests : std::runtime_error {
  explicit TooManyReplayRequests(unsigned retry_after_s_)
      : std::runtime_error("too many replay requests"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

/// Requires the entity's lock (webhooks/registration_quota.hpp). Counts the request and returns nullopt, or
/// returns the whole seconds, at least 1, until one is allowed. `max_per_hour`: at least 1.
std::optional<unsigned> count_replay_request(Session& session, EntityId entity, unsigned max_per_hour);
/// As count_replay_request, for limits.diagnostics.
std::optional<unsigned> count_diagnosis(Session& session, EntityId entity, unsigned max_per_hour);

}  // namespace store
