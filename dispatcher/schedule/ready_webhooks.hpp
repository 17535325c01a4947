// The ready set of claims: webhooks with pending deliveries, as far as this dispatcher knows, by the time
// when they are due. These are hints: the database decides, and QueueScanner finds what is missing here. Only
// look_again and ranges visit all known webhooks. Pure bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class ReadyWebhooks {
 public:
  /// QueueScanner saw the webhook's first pending delivery at `now`.
  void found(const store::WaitingWebhook& webhook, platform::MonotonicTime now);
  /// A delivery of the webhook, not necessarily its first, is due at `due`.
  void waits(delivery::WebhookId webhook, platform::MonotonicTime due);
  /// A delivery of the webhook is pending again without a failure that counts. The delivery keeps its
  /// due time, which may lie before after(); so the next claim reads from the webhook's first delivery again.
  void returned(delivery::WebhookId webhook, platform::MonotonicTime now);

  /// Returns the webhooks that have become due. Each is returned once, and stays due until finished(),
  /// postpone() or suspend(). Forgets a webhook for which nothing has waited for a minute.
  std::vector<delivery::WebhookId> take_due(platform::MonotonicTime now);
  /// Returns the position, in the order of due times, up to which no delivery of the webhook is known to
  /// wait.
  store::DuePosition after(delivery::WebhookId webhook) const;

  /// Deliveries were read that are left to a newer release, because this one cannot read their notifications.
  /// Until finished(), the webhook is not read from its first delivery again, so that the deliveries behind
  /// them are reached; finished() then postpones it by refused_wait.
  void note_left(delivery::WebhookId webhook);
  /// The webhook's deliveries were read up to `last`; the webhook stays due.
  void advance(delivery::WebhookId webhook, const store::DuePosition& last);
  /// Nothing more of the webhook is known to be due.
  void finished(delivery::WebhookId webhook, platform::MonotonicTime now);
  /// take_due() does not return the webhook before `until`, whatever is found. From `until` on it
  /// returns the webhook if the webhook is due.
  void postpone(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// No delivery of the webhook can be claimed: take_due() does not return it before `until`, and later only
  /// if a delivery is found.
  void suspend(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Makes every webhook be read from its first delivery again. QueueScanner calls this regularly.
  void look_again();

  /// The ranges of webhook ids to search. They leave out webhooks that are due or postponed.
  std::vector<store::IdRange> ranges(platform::MonotonicTime now) const;
  std::size_t size() const { return webhooks_.size(); }

 private:
  struct Entry {
    store::DuePosition after{};
    std::optional<platform::MonotonicTime> due;  // none: nothing is known to wait
    platform::MonotonicTime not_before{};
    std::optional<platform::MonotonicTime> listed;  // the key in by_time_; none: returned as due
    platform::MonotonicTime forget_at{};            // matters only while `due` is unset
    bool left = false;                              // note_left() was called since finished()
  };
  void list(delivery::WebhookId webhook, Entry& entry);

  std::map<delivery::WebhookId, Entry> webhooks_;
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> by_time_;
};

}  // namespace dispatcher
