// Knows webhooks with deliveries to be tried ahead of their schedule, and how many of each are in flight: a
// recovering webhook gets a few at a time, and more as it accepts them
// (docs/delivery.md#recovery-and-probes). These are hints: the database decides. The cost of a call does not
// depend on how many webhooks are known or postponed. Pure bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/deliveries/claim_early.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class EarlyWebhooks {
 public:
  struct Limits {
    unsigned per_webhook = 1;      // recovery attempts in flight to one webhook
    unsigned probes = 1;           // probes in flight to all webhooks
    platform::Milliseconds lease;  // the longest time until another dispatcher's lease expires
  };
  explicit EarlyWebhooks(const Limits& limits) : limits_(limits) {}

  /// The database lists this webhook as due. `since` is the time from which it gets attempts ahead of its
  /// schedule. Does nothing if the webhook is already known here with the same or a later `since`.
  void found(const store::EarlyWebhook& webhook, platform::MonotonicTime now);

  /// Returns recovering webhooks that are due: each once, until another call makes it due again.
  std::vector<store::EarlyWebhook> next(std::size_t most, platform::MonotonicTime now);
  /// Returns failing webhooks that may get a probe now, each once, in the order of `since`, so that all wait
  /// equally long.
  std::vector<store::EarlyWebhook> next_probes(std::size_t most, platform::MonotonicTime now);

  /// How many more deliveries may be in flight to the webhook now.
  unsigned room(delivery::WebhookId webhook) const;
  /// The next reading of the webhook's deliveries begins after this delivery.
  delivery::DeliveryId after(delivery::WebhookId webhook) const;

  /// The webhook's deliveries were read up to `reach`, and `leased` of them were leased. True: this reading
  /// and the one before found no delivery that waits. So the recovery is over, and the webhook is forgotten.
  bool reached(const store::EarlyClaim::Reach& reach, unsigned leased, platform::MonotonicTime now);
  /// Makes the webhook due at `until`.
  void postpone(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Forgets the webhook until it is found again.
  void forget(delivery::WebhookId webhook);

  /// Counts a probe in flight, and forgets the webhook.
  void probing(delivery::WebhookId webhook);
  /// The result of an attempt at a delivery of the webhook is recorded, or never will be. `delivered` is
  /// false if the attempt failed or was not made.
  void ended(delivery::WebhookId webhook, delivery::AttemptKind kind, bool delivered,
             platform::MonotonicTime now);
  /// Stops the recovery of the webhook: its deliveries wait for their schedule.
  void failed(delivery::WebhookId webhook, platform::MonotonicTime now);

  std::size_t size() const { return webhooks_.size(); }

 private:
  struct Entry {
    store::UtcTime since{};
    bool failing = false;
    delivery::DeliveryId after = 0;
    unsigned in_hand = 0;
    unsigned delivered = 0;
    bool none_waited = false;                       // when the deliveries were last read
    bool passed_over = false;                       // some deliveries up to `after` were skipped, and wait
    bool stopped = false;                           // by failed()
    std::optional<platform::MonotonicTime> listed;  // when it is due; none: has been returned
  };
  using Entries = std::map<delivery::WebhookId, Entry>;
  void list(delivery::WebhookId webhook, Entry& entry, platform::MonotonicTime time);
  void unlist(delivery::WebhookId webhook, Entry& entry);

  Limits limits_;
  unsigned probing_ = 0;
  Entries webhooks_;
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> by_time_;       // recovering webhooks
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> later_probes_;  // failing webhooks
  std::set<store::EarlyWebhook> probes_;  // those of which next_probes() has found that they are due
};

}  // namespace dispatcher
