// How the deliveries of a webhook have gone of late, as its entity sees it.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Of the deliveries made within a window, test events apart.
struct DeliveryStatistics {
  std::uint64_t delivered = 0;  // once counts for ever, whatever a replay comes to
  std::uint64_t failed = 0;
  std::uint64_t pending = 0;  // or being sent
  std::uint64_t held = 0;
  std::uint64_t failed_attempts = 0;
  std::optional<std::int64_t>
      median_ms;  // of the attempts that were answered with a 2xx; none: there are none
  std::optional<std::int64_t> percentile95_ms;  // of the same
  bool exact = true;  // false: of the newest 2,000 deliveries of the webhook, and 2,000 attempts, alone
};

DeliveryStatistics read_statistics(Session& session, WebhookId webhook, platform::Milliseconds window);

}  // namespace store
