// Finds the entities with pending notifications and the webhooks with pending deliveries. The cost depends on
// how many are found, not on the backlog: a GROUP BY or DISTINCT would read the whole backlog (MariaDB 10.11
// prefers that to a loose scan).
#pragma once

#include <limits>
#include <set>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Whether there is work, uncommitted rows included: a hint, whose cost does not depend on how much one
/// transaction has written. One query, because an idle dispatcher asks all the time.
struct QueuePeek {
  bool pending_notifications;
  bool pending_deliveries;  // due or not
  bool asked_diagnoses;
  bool pauses;            // everything, or some parts, are paused
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

/// The pending notifications among the next rows after an id, by id. Ids are assigned before the commit, so a
/// row with an id below `last` may appear later.
struct NewNotifications {
  std::vector<NotificationKey> pending;
  std::set<EntityId> unreachable;  // entities of `pending` that do not exist or are disabled
  NotificationId last;             // the last id read or passed over, of any state
  bool full;                       // `limit` rows were read, so further ones may exist
  bool passed_over;                // further rows exist after many uncommitted ones, which were passed over
};
/// Reads at most `limit` committed rows above `after`. `newest`: the highest id known. Where very many rows
/// follow, reads only as far as `most_ids_at_once` rows reach, committed or not, and passes over those that
/// are not committed.
NewNotifications find_new_notifications(Session& session, NotificationId after, NotificationId newest,
                                        unsigned limit);
inline constexpr unsigned most_ids_at_once = 2048;

struct WaitingEntity {
  EntityId id;
  std::vector<NotificationId> oldest;  // the oldest pending notifications, by id: at least one
  bool more;                           // true: the entity may have further pending notifications
  bool unreachable = false;            // true: the entity does not exist, or is disabled
};
struct WaitingEntities {
  std::vector<WaitingEntity> found;
  std::vector<IdRange> rest;  // the ranges that remain to be searched
};
/// Reads, for each range of entity ids, the first rows_per_range pending notifications, in the order of
/// entity id and notification id. Returns the entities of those that are committed. Takes at most
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
