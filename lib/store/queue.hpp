// The queue as a whole: its depth and its emergency stop.
#pragma once

#include <cstdint>

#include "store/session.hpp"

namespace store {

struct QueueStatus {
  std::int64_t pending_notifications;
  std::int64_t pending_deliveries;
  std::int64_t in_flight;
  std::int64_t held;
  std::int64_t failed;
  std::int64_t rejected;
  std::int64_t oldest_s;  // age of the oldest pending notification or due delivery; 0 when there is none
  bool paused;
};

QueueStatus queue_status(Session& session);

/// False when it was so already. A paused dispatcher starts nothing; what is in flight ends.
bool set_paused(Session& session, bool paused);
bool is_paused(Session& session);

}  // namespace store
