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
  /// The greater of the next two.
  std::int64_t oldest_s;
  std::int64_t oldest_notification_s;  // age of the oldest pending notification; 0: none
  /// The longest time since a pending delivery fell due; 0: none is due. Deliveries of webhooks that rest, or
  /// that a pause of `paused_parts` covers, do not count.
  std::int64_t oldest_delivery_s;
  bool paused;
  /// How far the database's clock has jumped (negative: back); 0 again once the operator has accepted the
  /// clock. While this is not 0, nothing is purged.
  std::int64_t clock_jump_s = 0;
  std::int64_t paused_parts = 0;  // how many pauses of one entity, one webhook or one host are in force
  std::int64_t deferred = 0;      // notifications whose `no_antes_de` is to come
};

/// Counts each state up to `limit`, which bounds the cost of a deep queue; unset: counts all.
QueueStatus queue_status(Session& session, std::optional<std::int64_t> limit = std::nullopt);

/// How many ids are left for notifications; nullopt when the server does not report AUTO_INCREMENT.
std::optional<double> notification_numbers_left(Session& session);

/// Pauses or resumes the whole queue; returns false when the queue was in that state already. While the queue
/// is paused, the dispatchers start no attempt; attempts in flight finish.
bool set_paused(Session& session, bool paused);
bool is_paused(Session& session);

}  // namespace store
