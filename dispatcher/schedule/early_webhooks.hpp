// Knows webhooks with deliveries to be tried ahead of their schedule, and how many of each are in flight: a
// recovering webhook gets a few at a time, and more as it accepts them
// (docs/delivery.md#recovery-and-probes). These are hints: the database decides. The cost of a call does not
// depend on how many are known, except that next_probes passes over postponed ones. Pure bookkeeping.
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
    unsigned per_webhook = 1;  // early attempts in flight to one webhook; the rest is for new notifications
    unsigned probes = 1;       // probes in flight to all
    platform::Milliseconds lease;  // a lease that another dispatcher lets expire ends within this time
  };
  explicit EarlyWebhooks(const Limits& limits) : limits_(limits) {}

  void found(const store::EarlyWebhook& webhook, platform::MonotonicTime now);

  /// Returns recovering webhooks that are due. Each is returned once, until one of the calls below.
  std::vector<store::EarlyWebhook> next(std::size_t most, platform::MonotonicTime now);
  /// Returns failing webhooks, as far as probes are allowed: in the order of `since`, so that all wait
  /// equally long.
  std::vector<store::EarlyWebhook> next_probes(std::size_t most, platform::MonotonicTime now);

  /// How many more of its deliveries may be in flight now, and after which one to continue.
  unsigned room(delivery::WebhookId webhook) const;
  delivery::DeliveryId after(delivery::WebhookId webhook) const;

  /// Its deliveries were read up to `reach`, and `leased` of them leased. True: nothing of it has waited for
  /// the longest time of a lease, so its recovery is over.
  bool reached(const store::EarlyClaim::Reach& reach, unsigned leased, platform::MonotonicTime now);
  /// It is not returned before `until`.
  void postpone(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Nothing more of it is to be tried ahead, unless it is found again.
  void forget(delivery::WebhookId webhook);

  void probing(delivery::WebhookId webhook);
  /// An attempt was made or handed back, and its result is recorded.
  void ended(delivery::WebhookId webhook, delivery::AttemptKind kind, bool delivered,
             platform::MonotonicTime now);
  /// It fails again, so its deliveries wait for their schedule.
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
    std::optional<platform::MonotonicTime> listed;  // its key in by_time_; of a probe: when it is due
  };
  using Entries = std::map<delivery::WebhookId, Entry>;
  void list(delivery::WebhookId webhook, Entry& entry, platform::MonotonicTime time);
  void unlist(delivery::WebhookId webhook, Entry& entry);

  Limits limits_;
  unsigned probing_ = 0;
  Entries webhooks_;
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> by_time_;
  std::set<store::EarlyWebhook> probes_;  // failing webhooks that next_probes may return
};

}  // namespace dispatcher
