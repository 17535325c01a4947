// The ready set of claims: webhooks with pending deliveries, as far as this dispatcher knows, by the time
// when they are due. These are hints: the database decides, and QueueScanner finds what is missing here. The
// cost of a call does not depend on how many webhooks are known, except for look_again and ranges. Pure
// bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dispatcher/schedule/left_rows.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class ReadyWebhooks {
 public:
  /// The search saw the webhook's first pending delivery at `now`.
  void found(const store::WaitingWebhook& webhook, platform::MonotonicTime now);
  /// A delivery of the webhook, not necessarily its first, is due at `due`.
  void waits(delivery::WebhookId webhook, platform::MonotonicTime due);
  /// A delivery of the webhook is pending again without a failure that counts. It keeps its due time, which
  /// may lie before after(): so the next claim reads from the first delivery again.
  void returned(delivery::WebhookId webhook, platform::MonotonicTime now);

  /// Returns the webhooks that have become due. Each is returned once, and stays due until finished(),
  /// postpone() or suspend(). Forgets webhooks for which nothing has waited for a minute.
  std::vector<delivery::WebhookId> take_due(platform::MonotonicTime now);
  /// Returns the position up to which nothing of the webhook is known to wait.
  store::DuePosition after(delivery::WebhookId webhook) const;

  /// Tells whether some of the webhook's deliveries that were read are left to a newer version.
  void note_left(delivery::WebhookId webhook, bool some);
  /// The webhook's deliveries were read up to `last`; it stays due.
  void advance(delivery::WebhookId webhook, const store::DuePosition& last);
  /// Nothing more of the webhook is known to be due.
  void finished(delivery::WebhookId webhook, platform::MonotonicTime now);
  /// The webhook is not returned before `until`, whatever is found; if it is due, it is returned then.
  void postpone(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Nothing of the webhook can be claimed: it is not returned before `until`, and then only if something is
  /// found.
  void suspend(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Makes every webhook be read from its first delivery again, unless rows are being skipped.
  void look_again();

  /// The ranges of ids to search: without webhooks that are due or postponed, or have skipped rows.
  std::vector<store::IdRange> ranges(platform::MonotonicTime now) const;
  std::size_t size() const { return webhooks_.size(); }

 private:
  struct Entry {
    store::DuePosition after{};
    std::optional<platform::MonotonicTime> due;  // none: nothing is known to wait
    platform::MonotonicTime not_before{};
    std::optional<platform::MonotonicTime> listed;  // the key in by_time_; none: returned as due
    platform::MonotonicTime forget_at{};            // while nothing waits
    LeftRows left{};
  };
  void list(delivery::WebhookId webhook, Entry& entry);

  std::map<delivery::WebhookId, Entry> webhooks_;
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> by_time_;
};

}  // namespace dispatcher
