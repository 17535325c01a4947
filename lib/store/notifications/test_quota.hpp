// Tables `pruebas_pendientes` and `turnos_prueba`: how many test deliveries of an entity have not ended, and
// how much its test events may still store: a bucket that fills again in a day, kept as one time.
#pragma once

#include <optional>
#include <stdexcept>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The entity would have more test deliveries pending than it may.
struct TooManyPendingTests : std::runtime_error {
  TooManyPendingTests() : std::runtime_error("too many pending test deliveries") {}
};

/// The entity has stored as much as it may; this passes in so many seconds.
struct TooManyTestBytes : std::runtime_error {
  explicit TooManyTestBytes(unsigned retry_after_s_)
      : std::runtime_error("too many bytes of test events"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

/// All are for a transaction that queues a test event, the first one before anything else is locked: it
/// keeps the entity's other test events waiting until the transaction ends. Deliveries that have not ended
/// are pendiente, en_curso or retenida.

void take_test_turn(Session& session, EntityId entity);
/// How many deliveries may be added without exceeding `limit`.
std::uint64_t room_for_tests(Session& session, EntityId entity, std::uint64_t limit);
/// nullopt: they are counted; otherwise the whole seconds, at least 1, until they pass. What is more than a
/// day's passes once nothing else is counted. `per_day`: at least 1.
std::optional<unsigned> count_test_bytes(Session& session, EntityId entity, std::uint64_t bytes,
                                         std::uint64_t per_day);
/// Counts the deliveries of a notification from now on, until they end.
void count_test_deliveries(Session& session, EntityId entity, NotificationId notification);

}  // namespace store
