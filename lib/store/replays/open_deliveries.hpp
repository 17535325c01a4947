// Table `reenvios_entregas`: what replays have handed over, until what became of it has been counted. While a
// delivery has not ended, `por_intentar` is its webhook.
#pragma once

#include <cstddef>
#include <span>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Of a webhook's replays what has not ended.
struct OpenDeliveries {
  std::size_t untried = 0;
  std::size_t waiting = 0;  // for a retry, or because it is held
};
/// Counts up to 300. What has ended without an attempt (cancelled, held for too long, purged) is noted.
OpenDeliveries read_open(Session& session, WebhookId webhook);

/// What has ended of a replay, whose row the caller holds, is from now on a number of its row.
void count_ended(Session& session, std::int64_t replay);

/// How the attempts of a delivery came to an end.
struct Outcome {
  DeliveryId delivery;
  bool delivered;
};
/// For the replays that have handed these over. Waits for no lock on MariaDB: LockTimeout.
void note_outcomes(Session& session, std::span<const Outcome> outcomes);

}  // namespace store
