// The queue as a whole: its depth and its emergency stop.
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
  /// Age of the oldest pending notification, or of the delivery that has been due for longest, those of
  /// webhooks that rest (429) apart; 0 when there is none.
  std::int64_t oldest_s;
  std::int64_t oldest_notification_s;  // of that alone
  std::int64_t oldest_delivery_s;
  bool paused;
  std::int64_t clock_jump_s =
      0;  // by how much the clock has jumped, and nobody accepted it: nothing is purged
};

/// `limit`: each state is counted as far as that, which bounds what a deep queue costs. None: to the end.
QueueStatus queue_status(Session& session, std::optional<std::int64_t> limit = std::nullopt);

/// How many notifications can still be numbered; nullopt: the server does not tell.
std::optional<double> notification_numbers_left(Session& session);

/// False when it was so already. A paused dispatcher starts nothing; what is in flight ends.
bool set_paused(Session& session, bool paused);
bool is_paused(Session& session);

}  // namespace store
