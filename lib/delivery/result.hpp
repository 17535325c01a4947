// What an attempt means for its delivery and its webhook, ready to be recorded.
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
  EntityId entity = 0;  // whose webhook it is
  std::uint64_t lease = 0;
  DeliveryState state = DeliveryState::delivered;  // or pending (a retry after `wait`), failed, held
  AttemptKind kind = AttemptKind::scheduled;
  bool replay = false;
  /// False: pending again, and due, as if there had been no attempt; only `error` is written.
  bool counted = true;
  unsigned failures = 0;  // for the schedule, this one included if it was `scheduled`
  /// Of pending; none: when it would have been due without this attempt.
  std::optional<platform::Milliseconds> wait;
  std::optional<platform::Milliseconds> retry_after;  // nothing is tried ahead of the schedule before it ends
  bool test = false;                                  // test events do not count for deactivation

  // The attempt.
  unsigned attempts = 0;  // known outcomes before this one
  platform::UtcTime started{};
  platform::Milliseconds duration{};
  std::optional<std::string> address;  // the IP dialled
  std::optional<int> status;           // HTTP; none when there was no response
  std::string error;                   // empty: success. At most 500 characters
  unsigned signatures = 0;             // of different secrets: 0 to 2
  std::string url;                     // where it was sent; of those that were delivered, or held, empty

  // What it says of the webhook.
  bool former_url = false;        // nothing: it has another URL by now
  bool probe = false;             // failed in transport or with 429/503
  bool gone = false;              // 410: the webhook is deactivated
  platform::Milliseconds rest{};  // the whole webhook pauses for this long (429, unreadable secret)
};

}  // namespace delivery
