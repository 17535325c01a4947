// Statistics of a webhook's recent deliveries, for its entity.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Counts deliveries created within a window, without test events.
struct DeliveryStatistics {
  std::uint64_t delivered = 0;  // answered 2xx at least once, even if a later replay failed
  std::uint64_t failed = 0;
  std::uint64_t pending = 0;  // pending or in flight
  std::uint64_t held = 0;
  std::uint64_t failed_attempts = 0;
  std::optional<std::int64_t> median_ms;        // duration of attempts answered 2xx; unset: no such attempt
  std::optional<std::int64_t> percentile95_ms;  // of the same attempts
  /// False in two cases:
  /// - The window may have more than 2,000 deliveries, test events included. Only the newest 2,000 are read.
  /// - The counted deliveries have more than 2,000 attempts. The durations are then those of 2,000 attempts,
  ///   and failed_attempts is an estimate.
  bool exact = true;
};

DeliveryStatistics read_statistics(Session& session, WebhookId webhook, platform::Milliseconds window);

}  // namespace store
