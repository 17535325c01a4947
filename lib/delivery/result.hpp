// The meaning of an attempt for its delivery and its webhook, ready to be recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/delivery/attempt.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/delivery/states.hpp"
#include "lib/platform/clock.hpp"

namespace delivery {

struct DeliveryResult {
  DeliveryId id = 0;
  WebhookId webhook = 0;
  EntityId entity = 0;  // the webhook's owner
  std::uint64_t lease = 0;
  DeliveryState state = DeliveryState::delivered;  // or pending (a retry after `wait`), failed, held
  AttemptKind kind = AttemptKind::scheduled;
  bool replay = false;
  /// False, in an outage of our own: the delivery is pending with its former due time. No attempt is
  /// recorded, only `error`.
  bool counted = true;
  /// Number of failed attempts that count for the schedule, with this attempt if it failed and is scheduled.
  unsigned failures = 0;
  /// For `pending`: the time until the retry. Unset: the delivery keeps its due time, unless `retry_after`
  /// ends later; then it is due at that end.
  std::optional<platform::Milliseconds> wait;
  std::optional<platform::Milliseconds> retry_after;  // the delivery is not tried before this has passed
  bool test = false;                                  // test events do not count for deactivation

  // About the attempt.
  unsigned attempts = 0;  // attempts with a known outcome before this one
  platform::UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;  // the IP dialled
  std::optional<int> status;           // HTTP status; unset without a response
  std::string error;        // empty: success, unless in a sandbox (sandbox_text). At most 500 characters
  unsigned signatures = 0;  // number of signatures made, one for each secret: 0 to 2
  std::string url;          // of the POST; empty for delivered and held

  // About the webhook.
  std::optional<platform::UtcTime> certificate_end{};  // of the receiver's, if a handshake showed it
  bool former_url = false;        // the webhook has another URL now, about which the attempt says nothing
  bool one_at_a_time = false;     // no answer, 429 or 503: the webhook gets one attempt at a time
  bool gone = false;              // 410: the webhook is deactivated
  platform::Milliseconds rest{};  // how long the whole webhook rests (429, unreadable secret)
};

inline bool is_delivered(const DeliveryResult& result) { return result.state == DeliveryState::delivered; }

/// Whether an attempt was made, and did not fail in an outage of our own (such an attempt is not recorded).
inline bool was_attempted(const DeliveryResult& result) {
  return result.counted && result.state != DeliveryState::held;
}

}  // namespace delivery
