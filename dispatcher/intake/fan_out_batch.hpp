// A batch of notifications on its way through the fan-out: what was found, and what became of it.
#pragma once

#include <set>
#include <vector>

#include "dispatcher/intake/fan_out_plan.hpp"
#include "dispatcher/intake/locked_notifications.hpp"
#include "dispatcher/intake/newer_rows.hpp"
#include "dispatcher/schedule/ready_entities.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

struct FanOutBatch {
  struct Row {
    delivery::NotificationId id;
    delivery::EntityId entity;
  };
  std::vector<Row> rows;  // all that were found, by id within an entity
  std::vector<store::TakeRequest> requests;
  ReadyEntities::Pick pick = ReadyEntities::Pick::ready;  // of the requests
  std::set<delivery::EntityId> with_left, with_large, without_room;
  std::vector<JudgedNotification> judged;  // what is to be fanned out

  // What became of them.
  std::set<delivery::NotificationId> passed;  // done, left, refused, or taken by another dispatcher
  std::set<delivery::EntityId> busy, locked, put_off, refused;
  std::set<delivery::EntityId> stopped;  // of those locked: by what only writing meets

  /// Tells the ready set how far each entity was fanned out: up to the first one that was not passed.
  void note(ReadyEntities& entities) const;
};

/// Which of the two kinds has the larger half of a batch: the line of new notifications, or the entities with
/// many, which take turns.
enum class First { line, turns };

/// Reads and judges without a lock.
class FanOutReader {
 public:
  /// `session` and `locked` outlive it.
  FanOutReader(store::Session& session, LockedNotifications& locked, const platform::Log& log)
      : session_(session), locked_(locked), newer_(log) {}

  FanOutBatch read(const std::vector<store::NewNotification>& line, ReadyEntities::Pick pick,
                   std::vector<store::TakeRequest> requests, First first = First::line);

 private:
  store::Session& session_;
  LockedNotifications& locked_;
  NewerRows newer_;
};

template <class Notifications>
std::vector<delivery::NotificationId> ids_of(const Notifications& notifications) {
  std::vector<delivery::NotificationId> ids;
  ids.reserve(notifications.size());
  for (const auto& notification : notifications) ids.push_back(notification.id);
  return ids;
}

}  // namespace dispatcher
