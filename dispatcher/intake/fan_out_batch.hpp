// A batch of notifications in the fan-out: what was read, and what became of it.
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
  /// Every notification of the batch, pending or not; those of one entity in ascending order of id.
  std::vector<store::NotificationKey> rows;
  std::vector<store::TakeRequest> requests;
  ReadyEntities::Pick pick = ReadyEntities::Pick::ready;  // the kind of entities that `requests` names
  /// Entities with notifications left to a newer version or quarantined; with data not in the row; with data
  /// too large for the batch.
  std::set<delivery::EntityId> with_left, with_large, without_room;
  std::vector<JudgedNotification> judged;  // to be fanned out or rejected

  // The results of the batch.
  /// Need not be waited for: fanned out or rejected, quarantined, left to a newer version, refused, no longer
  /// pending, or locked (then in LockedNotifications).
  std::set<delivery::NotificationId> passed;
  /// `busy`, `locked`: as in FanOutPlan; `put_off`: to be taken alone.
  std::set<delivery::EntityId> busy, locked, put_off, refused;
  /// The part of `locked` for which the reads succeeded and a write failed (lock time-out or duplicate key).
  std::set<delivery::EntityId> stopped;

  /// Tells the ready set how far each entity was fanned out: up to its first notification that was not
  /// passed.
  void note(ReadyEntities& entities) const;
};

/// Which kind comes first in a batch and has the larger half: new notifications in line, or entities that
/// take turns.
enum class First { line, turns };

/// Reads notifications and checks their data. Takes no lock.
class FanOutReader {
 public:
  /// `session`, `locked` and `newer` outlive it.
  FanOutReader(store::Session& session, LockedNotifications& locked, NewerRows& newer)
      : session_(session), locked_(locked), newer_(newer) {}

  FanOutBatch read(const std::vector<store::NotificationKey>& line, ReadyEntities::Pick pick,
                   std::vector<store::TakeRequest> requests, First first = First::line);

 private:
  store::Session& session_;
  LockedNotifications& locked_;
  NewerRows& newer_;
};

template <class Notifications>
std::vector<delivery::NotificationId> ids_of(const Notifications& notifications) {
  std::vector<delivery::NotificationId> ids;
  ids.reserve(notifications.size());
  for (const auto& notification : notifications) ids.push_back(notification.id);
  return ids;
}

}  // namespace dispatcher
