// Who waits: entities with pending notifications, webhooks with pending deliveries. One seek of an index for
// each that is found, whatever the backlogs: a GROUP BY or DISTINCT would read them whole (seen on MariaDB
// 10.11, which prefers that to a loose scan).
#pragma once

#include <limits>
#include <set>
#include <vector>

#include "store/session/session.hpp"
#include "store/types.hpp"

namespace store {

/// Whether there is anything to do; one round trip, which an idle dispatcher makes all the time.
struct QueuePeek {
  bool pending_notifications;
  bool pending_deliveries;  // due or waiting
  NotificationId newest;    // the highest id so far; 0: there is none
};
QueuePeek peek_queue(Session& session);

/// Ids from `first` to `last`, both included. The default is all of them: the writer may give any number as
/// an entity, negative ones too.
struct IdRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};
inline constexpr std::size_t ranges_per_search = 16;

struct WaitingEntity {
  EntityId id;
  NotificationId first;  // its oldest pending notification
};
/// The entities of the pending notifications with an id above `after`, and how far was looked: at most
/// `limit` rows. Ids are given before they are committed, so a lower one may come later.
struct NewNotifications {
  std::set<EntityId> entities;
  NotificationId last;  // looked at; `after` when there was none
  bool more;            // the limit was reached
};
NewNotifications find_new_notifications(Session& session, NotificationId after, unsigned limit);

/// The lowest entity of each range that has pending notifications; nothing for a range without. At most
/// ranges_per_search ranges, without overlaps.
std::vector<WaitingEntity> find_waiting_entities(Session& session, const std::vector<IdRange>& ranges);

struct WaitingWebhook {
  WebhookId id;
  UtcTime first;                 // when its first pending delivery is due, by the database's clock
  platform::Milliseconds until;  // from now until then; negative when it is past
};
/// Likewise, of webhooks with pending deliveries, due or not.
std::vector<WaitingWebhook> find_waiting_webhooks(Session& session, const std::vector<IdRange>& ranges);

}  // namespace store
