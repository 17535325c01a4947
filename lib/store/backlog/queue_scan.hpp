// Who waits: entities with pending notifications, webhooks with pending deliveries. One seek of an index for
// each that is found, whatever the backlogs: a GROUP BY or DISTINCT would read them whole (seen on MariaDB
// 10.11, which prefers that to a loose scan).
#pragma once

#include <limits>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Whether there is anything to do; one round trip, which an idle dispatcher makes all the time.
struct QueuePeek {
  bool pending_notifications;
  bool pending_deliveries;  // due or waiting
  bool asked_diagnoses;
  NotificationId newest;  // the highest id so far; 0: there is none
};
QueuePeek peek_queue(Session& session);

/// Ids from `first` to `last`, both included. The default is all of them: the writer may give any number as
/// an entity, negative ones too.
struct IdRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};
inline constexpr std::size_t ranges_per_search = 16;

struct NewNotification {
  NotificationId id;
  EntityId entity;
};
/// The pending notifications with an id above `after`, by id, and how far was looked: at most `limit` rows.
/// Ids are given before they are committed, so a lower one may come later.
struct NewNotifications {
  std::vector<NewNotification> pending;
  NotificationId last;  // looked at; `after` when there was none
  bool more;            // the limit was reached
};
NewNotifications find_new_notifications(Session& session, NotificationId after, unsigned limit);

struct WaitingEntity {
  EntityId id;
  std::vector<NotificationId> oldest;  // its oldest pending notifications, by id: one or more
  bool more;                           // there may be others after those
};
struct WaitingEntities {
  std::vector<WaitingEntity> found;
  std::vector<IdRange> rest;  // not searched yet
};
/// The lowest entities of each range that have pending notifications: as many as rows_per_range rows tell.
/// At most ranges_per_search ranges, without overlaps.
WaitingEntities find_waiting_entities(Session& session, const std::vector<IdRange>& ranges);
inline constexpr std::size_t rows_per_range = 16;

struct WaitingWebhook {
  WebhookId id;
  UtcTime first;                 // when its first pending delivery is due, by the database's clock
  platform::Milliseconds until;  // from now until then; negative when it is past
};
/// The lowest webhook of each range that has pending deliveries, due or not; nothing for a range without.
std::vector<WaitingWebhook> find_waiting_webhooks(Session& session, const std::vector<IdRange>& ranges);

}  // namespace store
