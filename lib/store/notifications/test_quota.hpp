// Tables `pruebas_pendientes` and `turnos_prueba`: how many test deliveries of an entity have not ended.
#pragma once

#include <stdexcept>

#include "store/session/session.hpp"
#include "store/types.hpp"

namespace store {

/// The entity would have more test deliveries pending than it may.
struct TooManyPendingTests : std::runtime_error {
  TooManyPendingTests() : std::runtime_error("too many pending test deliveries") {}
};

/// Both are for a transaction that queues a test event, the first one before anything else is locked: it
/// keeps the entity's other test events waiting until the transaction ends. Deliveries that have not ended
/// are pendiente, en_curso or retenida.

/// How many deliveries may be added without exceeding `limit`.
std::uint64_t take_test_turn(Session& session, EntityId entity, std::uint64_t limit);
/// Counts the deliveries of a notification from now on, until they end.
void count_test_deliveries(Session& session, EntityId entity, NotificationId notification);

}  // namespace store
