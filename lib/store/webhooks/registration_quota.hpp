// Table `altas_webhook`: how many webhooks an entity may still register. A bucket of N registrations that
// fills again in an hour, kept as one time: that at which it will be full. Deleting gives nothing back.
#pragma once

#include <optional>
#include <stdexcept>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The entity has registered as many webhooks as it may; the next one passes in so many seconds.
struct TooManyRegistrations : std::runtime_error {
  explicit TooManyRegistrations(unsigned retry_after_s_)
      : std::runtime_error("too many registrations"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

/// Both are for a transaction that registers or changes a webhook or asks about a replay, the first one
/// before anything else is locked: it keeps the entity's other ones waiting until the transaction ends.
void take_registration_turn(Session& session, EntityId entity);
/// In a turn that was taken. nullopt: it is counted; otherwise the whole seconds, at least 1, until one more
/// passes. `max_per_hour`: at least 1.
std::optional<unsigned> count_registration(Session& session, EntityId entity, unsigned max_per_hour);

}  // namespace store
