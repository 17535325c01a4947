// The dispatcher's duties of upkeep, each in short batches that disturb neither deliveries nor inserts. One
// call, one duty done as far as it goes within `max_batches`; they return the rows changed.
#pragma once

#include <cstdint>

#include "platform/config.hpp"
#include "store/session.hpp"
#include "store/types.hpp"

namespace store {

/// pendiente or retenida deliveries of deleted webhooks -> cancelada.
std::uint64_t cancel_deliveries_of_deleted(Session& session, unsigned max_batches);

/// pendiente deliveries of inactive webhooks, and of disabled entities -> retenida.
std::uint64_t hold_deliveries_of_inactive(Session& session, unsigned max_batches);

/// retenida deliveries of webhooks that may receive (again) -> pendiente, due now: also what was held because
/// the webhook was enabled at the same moment, or because its secret could not be read.
std::uint64_t release_deliveries_of_active(Session& session, unsigned max_batches);

/// Where the purge has got to; start with a default one and keep it between calls.
struct PurgeCursor {
  DeliveryId delivery = 0;
  NotificationId notification = 0;
  WebhookId webhook = 0;
};
/// Finished deliveries with their attempts, finished notifications without deliveries, and deleted webhooks
/// without deliveries, once past their retention, by primary key from the cursor on. Each cursor returns to 0
/// at the end of its table.
std::uint64_t purge_finished(Session& session, const platform::RetentionSettings& retention,
                             PurgeCursor& cursor, unsigned max_batches);

}  // namespace store
