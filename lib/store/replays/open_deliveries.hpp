// Table `reenvios_entregas`: the deliveries of replays, until their results have been counted. Column
// `por_intentar` holds the delivery's webhook while the delivery is unfinished, and then NULL.
#pragma once

#include <cstddef>
#include <span>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The unfinished deliveries of a webhook's replays.
struct OpenDeliveries {
  std::size_t untried = 0;
  std::size_t waiting = 0;  // held, or tried and waiting for a retry
};
/// Counts at most 300 deliveries. Notes the results of those that ended without an attempt (cancelled, held
/// for too long, purged).
OpenDeliveries read_open(Session& session, WebhookId webhook);

/// Adds a batch of a replay's finished deliveries to the counts in the replay's row, which the caller has
/// locked, and deletes their rows of reenvios_entregas.
void count_ended(Session& session, ReplayId replay);

/// The final result of a delivery's attempts.
struct ReplayOutcome {
  DeliveryId delivery;
  bool delivered;
};
/// Notes the results for the replays of these deliveries. If another session has locked a row, throws
/// LockTimeout: on MariaDB at once, on MySQL after the session's usual wait.
void note_outcomes(Session& session, std::span<const ReplayOutcome> outcomes);

}  // namespace store
