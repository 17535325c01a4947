// Statistics of a webhook's recent deliveries, for its entity.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Counts deliveries created within a window, without test events.
struct DeliveryStatistics {
  std::uint64_t delivered = 0;  // with a 2xx, whatever the result of a replay
  std::uint64_t failed = 0;
  std::uint64_t pending = 0;  // pending or in flight
  std::uint64_t held = 0;
  std::uint64_t failed_attempts = 0;
  std::optional<std::int64_t> median_ms;        // duration of attempts answered 2xx; unset: no such attempt
  std::optional<std::int64_t> percentile95_ms;  // of the same attempts
  /// False in two cases. The window may have more than 2,000 deliveries, test events included: only the
  /// newest 2,000 are read. Or the counted deliveries have more than 2,000 attempts: then the durations are
  /// those of 2,000 attempts, and failed_attempts is an estimate.
  bool exact = true;
};

DeliveryStatistics read_statistics(Session& session, WebhookId webhook, platform::Milliseconds window);

}  // namespace store
