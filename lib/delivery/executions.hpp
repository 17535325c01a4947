// What the attempts to a webhook say about it: its last execution and its failure streak
// (docs/delivery.md#a-webhook-that-keeps-failing). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/delivery/result.hpp"
#include "lib/platform/clock.hpp"

namespace delivery {

/// A streak ends when this time has passed without a failure that counts. The same as in SQL:
/// streak_goes_on (lib/store/webhooks/failing.hpp).
inline constexpr platform::Milliseconds longest_streak_pause = std::chrono::hours(48);

/// The results of one webhook in a batch: its last attempt, and the failures since its last success.
struct WebhookResults {
  const DeliveryResult* last = nullptr;  // null: all its deliveries in the batch were held, not sent
  bool succeeded = false;                // a delivery succeeded; a test event does not count
  unsigned failures = 0;                 // failures that count for the streak, since the last success
  bool any_failed = false;               // including failures that do not count for the streak
  platform::Milliseconds rest{};

  /// True: nothing but successes, as most batches have.
  bool only_succeeded() const;
};
/// `batch` must be in the order in which the attempts ended, and outlive what is returned. Leaves out results
/// that say nothing about their webhook: those that are not counted, and those of a former URL.
std::map<WebhookId, WebhookResults> results_by_webhook(const std::vector<const DeliveryResult*>& batch);

/// The last execution of a webhook and its failure streak, as webhook_ejecuciones keeps them.
struct Execution {
  std::optional<platform::UtcTime> started{};  // of the last attempt; unset: none was made
  std::optional<int> status{};                 // of the last attempt
  std::string error{};                         // of the last attempt; empty: it succeeded, or none was made
  bool one_at_a_time = false;                  // the webhook gets one attempt at a time
  std::optional<platform::UtcTime> rests_until{};
  std::uint32_t failures = 0;                        // in the streak; 0: there is no streak
  std::optional<platform::UtcTime> failing_since{};  // set if and only if `failures` is not 0
  std::optional<platform::UtcTime> last_failure{};   // of the last streak
  /// From when attempts ahead of the schedule may be made; unset: never.
  std::optional<platform::UtcTime> ahead_from{};

  bool operator==(const Execution&) const = default;
};
/// Returns what `results`, recorded at `now`, make of `before`. A webhook that failed is probed after
/// `probe_interval`; 0: never.
Execution after(const Execution& before, const WebhookResults& results, platform::UtcTime now,
                platform::Milliseconds probe_interval);

}  // namespace delivery
