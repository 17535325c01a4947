// Table `altas_webhook`: the quota of an entity's registrations. A bucket of N that fills again in an hour,
// stored as the time at which it is full. Deleting a webhook returns nothing.
#pragma once

#include <optional>
#include <stdexcept>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The entity has used up its quota; the next registration is allowed after `retry_after_s` seconds.
struct TooManyRegistrations : std::runtime_error {
  explicit TooManyRegistrations(unsigned retry_after_s_)
      : std::runtime_error("too many registrations"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

/// Takes the entity's lock until the transaction ends. For a transaction that registers or changes a webhook
/// or asks for a replay or a diagnosis, before any other lock.
void take_registration_turn(Session& session, EntityId entity);
/// Requires the entity's lock. Counts a registration and returns nullopt, or returns the whole seconds, at
/// least 1, until one is allowed. `max_per_hour`: at least 1.
std::optional<unsigned> count_registration(Session& session, EntityId entity, unsigned max_per_hour);

}  // namespace store
