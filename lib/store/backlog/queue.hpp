// The whole queue: its depth and its pause.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/store/session/session.hpp"

namespace store {

struct QueueStatus {
  std::int64_t pending_notifications;
  std::int64_t pending_deliveries;
  std::int64_t in_flight;
  std::int64_t held;
  std::int64_t failed;
  std::int64_t rejected;
  /// The age of the oldest pending notification, or of the delivery that has been due for longest, whichever
  /// is greater; excludes webhooks that rest. 0 when there is none.
  std::int64_t oldest_s;
  std::int64_t oldest_notification_s;  // of notifications alone
  std::int64_t oldest_delivery_s;
  bool paused;
  std::int64_t clock_jump_s =
      0;  // a jump of the clock that the operator has not accepted; nothing is purged until then
};

/// Counts each state up to `limit`, which bounds the cost of a deep queue; unset: counts all.
QueueStatus queue_status(Session& session, std::optional<std::int64_t> limit = std::nullopt);

/// How many ids are left for notifications; nullopt when the server does not tell.
std::optional<double> notification_numbers_left(Session& session);

/// Returns false when the state was the same before. A paused dispatcher starts no attempt; attempts in
/// flight finish.
bool set_paused(Session& session, bool paused);
bool is_paused(Session& session);

}  // namespace store
