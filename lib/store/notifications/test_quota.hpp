// Tables `pruebas_pendientes` and `turnos_prueba`: the quotas of an entity's test events. One bounds its
// unfinished test deliveries, the other the bytes that it may store: a bucket that fills again in a day,
// stored as one time.
#pragma once

#include <optional>
#include <stdexcept>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The request would exceed the entity's quota of unfinished test deliveries.
struct TooManyPendingTests : std::runtime_error {
  TooManyPendingTests() : std::runtime_error("too many pending test deliveries") {}
};

/// The entity has used up its quota of bytes; the request is allowed after `retry_after_s` seconds.
struct TooManyTestBytes : std::runtime_error {
  explicit TooManyTestBytes(unsigned retry_after_s_)
      : std::runtime_error("too many bytes of test events"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

/// Locks the entity's test events until the transaction ends. These functions belong in a transaction that
/// queues a test event, and this one comes before any other lock. Unfinished deliveries are pendiente,
/// en_curso or retenida.

void take_test_turn(Session& session, EntityId entity);
/// Returns how many deliveries may be added within `limit`.
std::uint64_t room_for_tests(Session& session, EntityId entity, std::uint64_t limit);
/// Counts the bytes and returns nullopt, or returns the whole seconds, at least 1, until the quota allows
/// them. It allows more than a day's quota once nothing else is counted. `per_day`: at least 1.
std::optional<unsigned> count_test_bytes(Session& session, EntityId entity, std::uint64_t bytes,
                                         std::uint64_t per_day);
/// Counts the deliveries of a notification until they end.
void count_test_deliveries(Session& session, EntityId entity, NotificationId notification);

}  // namespace store
