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

/// How far the purge has read a table.
struct TableCursor {
  std::int64_t after = 0;  // the last id looked at
  bool done = false;       // the end was reached
};
/// Where the purge has got to: start with a default one, keep it between calls, and start again when it is
/// done.
struct PurgeCursor {
  TableCursor deliveries;
  TableCursor notifications;
  TableCursor webhooks;
  bool done() const { return deliveries.done && notifications.done && webhooks.done; }
};
/// Finished deliveries with their attempts, finished notifications without deliveries, and deleted webhooks
/// without deliveries, once past their retention, by primary key from the cursor on: `max_batches` windows of
/// each table.
std::uint64_t purge_finished(Session& session, const platform::RetentionSettings& retention,
                             PurgeCursor& cursor, unsigned max_batches);

}  // namespace store
