// Finds the entities with pending notifications and the webhooks with pending deliveries. The cost depends on
// how many are found, not on the backlog: a GROUP BY or DISTINCT would read the whole backlog (MariaDB 10.11
// prefers that to a loose scan).
#pragma once

#include <limits>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Whether there is work. One round trip, because an idle dispatcher asks all the time.
struct QueuePeek {
  bool pending_notifications;
  bool pending_deliveries;  // due or not
  bool asked_diagnoses;
  NotificationId newest;  // the highest id of a notification; 0 if there is none
};
QueuePeek peek_queue(Session& session);

/// The ids of entities or webhooks from `first` to `last`, both included. The default range has all 64-bit
/// numbers, because the evaluation system may write any number as an entity's id, even a negative one.
struct IdRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};
inline constexpr std::size_t ranges_per_search = 16;

/// The pending notifications among the first `limit` rows with an id above `after`, by id. Ids are assigned
/// before the commit, so a row with an id below `last` may appear later.
struct NewNotifications {
  std::vector<NotificationKey> pending;
  NotificationId last;  // the last id read, of any state; `after` if no row was read
  bool more;            // true: `limit` rows were read, so further ones may exist
};
NewNotifications find_new_notifications(Session& session, NotificationId after, unsigned limit);

struct WaitingEntity {
  EntityId id;
  std::vector<NotificationId> oldest;  // the oldest pending notifications, by id: at least one
  bool more;                           // true: the entity may have further pending notifications
};
struct WaitingEntities {
  std::vector<WaitingEntity> found;
  std::vector<IdRange> rest;  // the ranges that remain to be searched
};
/// Reads, for each range of entity ids, the first rows_per_range pending notifications, in the order of
/// entity id and notification id. Returns the entities of these notifications. Takes at most
/// ranges_per_search ranges, which must not overlap.
WaitingEntities find_waiting_entities(Session& session, const std::vector<IdRange>& ranges);
inline constexpr std::size_t rows_per_range = 16;

struct WaitingWebhook {
  WebhookId id;
  UtcTime first;                 // when the first pending delivery is due, by the database's clock
  platform::Milliseconds until;  // the time until `first`; negative: the delivery is overdue
};
/// Finds, in each range, the webhook with the lowest id among those with pending deliveries, due or not.
std::vector<WaitingWebhook> find_waiting_webhooks(Session& session, const std::vector<IdRange>& ranges);

}  // namespace store
