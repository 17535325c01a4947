// Webhooks with pending deliveries, as far as this dispatcher knows, by when they are due. Hints only: the
// database decides, and QueueScanner finds what is not here. What a call costs does not depend on how many
// are known, except for the searches (look_again, ranges). Pure bookkeeping.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dispatcher/schedule/left_rows.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class ReadyWebhooks {
 public:
  /// Its first pending delivery, seen at `now`.
  void found(const store::WaitingWebhook& webhook, platform::MonotonicTime now);
  /// One of its deliveries, not necessarily its first, is due at `due`.
  void waits(delivery::WebhookId webhook, platform::MonotonicTime due);

  /// Those that have become due: each is told once, and stays due until one of the calls below. Forgets those
  /// of which nothing has waited for a minute.
  std::vector<delivery::WebhookId> take_due(platform::MonotonicTime now);
  /// Up to here nothing of it is known to wait.
  store::DuePosition after(delivery::WebhookId webhook) const;

  /// Whether some of its deliveries that were looked at are left to a newer version.
  void note_left(delivery::WebhookId webhook, bool some);
  /// It was looked at up to `last`; it stays due.
  void advance(delivery::WebhookId webhook, const store::DuePosition& last);
  /// Nothing more of it is known to be due.
  void finished(delivery::WebhookId webhook, platform::MonotonicTime now);
  /// Not before `until`, whatever is found: it rests. Told as due again then.
  void postpone(delivery::WebhookId webhook, platform::MonotonicTime until);
  /// Nothing of it can be claimed: not before `until`, and then only if something is found.
  void quarantine(delivery::WebhookId webhook, platform::MonotonicTime until);
  void look_again();

  /// The ids not known to be due.
  std::vector<store::IdRange> ranges(platform::MonotonicTime now) const;
  std::size_t size() const { return webhooks_.size(); }

 private:
  struct Entry {
    store::DuePosition after{};
    std::optional<platform::MonotonicTime> due;  // none: nothing is known to wait
    platform::MonotonicTime not_before{};
    std::optional<platform::MonotonicTime> listed;  // its key in by_time_; none: told as due
    platform::MonotonicTime forget_at{};            // while nothing waits
    LeftRows left{};
  };
  void list(delivery::WebhookId webhook, Entry& entry);

  std::map<delivery::WebhookId, Entry> webhooks_;
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> by_time_;
};

}  // namespace dispatcher
