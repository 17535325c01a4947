// Notifications with rows that another session has locked (docs/delivery.md#locked-notifications). Tells
// which notifications to fan out although their rows are locked, and which rows to mark `procesada` once the
// lock is gone. Only keeps lists, which are bounded: the queue scanner finds a notification again if there
// was no room for it here.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"

namespace dispatcher {

class LockedNotifications {
 public:
  /// The notification's row is locked: perhaps briefly, by another dispatcher.
  void found(const store::NotificationKey& notification, platform::MonotonicTime now);
  /// The row is still locked when the notification is tried once more.
  void found_again(const store::NotificationKey& notification, platform::MonotonicTime now);
  /// Returns notifications to be tried once more.
  std::vector<store::NotificationKey> take_retries(platform::MonotonicTime now, std::size_t most);
  /// Returns notifications to be fanned out although their rows are locked.
  std::vector<store::NotificationKey> take_locked(platform::MonotonicTime now, std::size_t most);

  /// The notification's deliveries exist, but its row does not say so yet.
  void fanned_out(delivery::NotificationId id, platform::MonotonicTime now);
  /// Returns, at most once a second, notifications to be marked `procesada`.
  std::vector<delivery::NotificationId> take_unfinished(platform::MonotonicTime now, std::size_t most);

  /// The time from which on a take_… function has something to return; nullopt: no notification is left here.
  std::optional<platform::MonotonicTime> next_due() const;

 private:
  struct Found {
    store::NotificationKey notification;
    platform::MonotonicTime due;
  };
  using Queue = std::deque<Found>;  // by `due`
  void add(Queue& queue, const Found& found);
  std::vector<store::NotificationKey> take(Queue& queue, platform::MonotonicTime now, std::size_t most);

  Queue retries_, locked_;
  std::set<delivery::NotificationId> known_;  // in either queue
  std::set<delivery::NotificationId> unfinished_;
  delivery::NotificationId last_taken_ = 0;  // the last id that take_unfinished() returned
  platform::MonotonicTime next_finish_{};
};

}  // namespace dispatcher
