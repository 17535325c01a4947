// limits.replay_requests: how often an entity may ask for a replay of a range, or how many it would be of. A
// bucket of N that fills again in an hour, kept as one time beside that of registrations (`altas_webhook`).
// limits.diagnostics is kept likewise.
#pragma once

#include <optional>
#include <stdexcept>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The entity has asked as often as it may; once more passes in so many seconds.
struct TooManyReplayRequests : std::runtime_error {
  explicit TooManyReplayRequests(unsigned retry_after_s_)
      : std::runtime_error("too many replay requests"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

/// In a turn of the entity (webhooks/registration_quota.hpp). nullopt: it is counted; otherwise the whole
/// seconds, at least 1, until one more passes. `max_per_hour`: at least 1.
std::optional<unsigned> count_replay_request(Session& session, EntityId entity, unsigned max_per_hour);
/// The same, of limits.diagnostics.
std::optional<unsigned> count_diagnosis(Session& session, EntityId entity, unsigned max_per_hour);

}  // namespace store
