// Webhooks of which something is to be tried ahead of its schedule, as far as this dispatcher knows, and how
// much of each is under way: one that has answered again gets a few deliveries at a time, and more as it
// takes them (docs/delivery.md#recovery-and-probes). Hints only: the database decides. What a call costs does
// not depend on how many are known. Pure bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/deliveries/claim_early.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class EarlyWebhooks {
 public:
  struct Limits {
    unsigned per_webhook = 1;      // early attempts under way to one webhook; new notifications keep the rest
    unsigned probes = 1;           // under way to all
    platform::Milliseconds lease;  // what another dispatcher lets expire waits again by then
  };
  explicit EarlyWebhooks(const Limits& limits) : limits_(limits) {}

  void found(const store::EarlyWebhook& webhook, platform::MonotonicTime now);

  /// Some that have answered again and whose turn it is. Each is told once, until one of the calls below.
  std::vector<store::EarlyWebhook> next(std::size_t most, platform::MonotonicTime now);
  /// The same of those that fail, as far as there is room for probes: in the order of `since`, so that they
  /// all wait alike.
  std::vector<store::EarlyWebhook> next_probes(std::size_t most, platform::MonotonicTime now);

  /// How many more of it may be under way now, and where to go on.
  unsigned room(delivery::WebhookId webhook) const;
  delivery::DeliveryId after(delivery::WebhookId webhook) const;

  /// Its deliveries were looked at, and so many leased. True: nothing of it has waited for as long as a lease
  /// may last, so it is done.
  bool reached(const store::EarlyClaim::Reach& reach, unsigned leased, platform::MonotonicTime now);
  /// Not before `until`.
  void postpone(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Nothing more of it is to be tried ahead, unless it is found with a later `since`.
  void forget(delivery::WebhookId webhook);

  void probing(delivery::WebhookId webhook);
  /// An attempt was made, or handed back, and that is on record.
  void ended(delivery::WebhookId webhook, delivery::AttemptKind kind, bool delivered,
             platform::MonotonicTime now);
  /// It fails again: what waits for it waits.
  void failed(delivery::WebhookId webhook, platform::MonotonicTime now);

  std::size_t size() const { return webhooks_.size(); }

 private:
  struct Entry {
    store::UtcTime since{};
    bool failing = false;
    delivery::DeliveryId after = 0;
    unsigned in_hand = 0;
    unsigned delivered = 0;
    bool none_waited = false;                       // at the last look
    bool stopped = false;                           // it has failed since
    std::optional<platform::MonotonicTime> listed;  // its key in by_time_, or in probes_ while it fails
  };
  using Entries = std::map<delivery::WebhookId, Entry>;
  void list(delivery::WebhookId webhook, Entry& entry, platform::MonotonicTime time);
  void unlist(delivery::WebhookId webhook, Entry& entry);

  Limits limits_;
  unsigned probing_ = 0;
  Entries webhooks_;
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> by_time_;
  std::set<store::EarlyWebhook> probes_;  // those that fail and have not been told
};

}  // namespace dispatcher
