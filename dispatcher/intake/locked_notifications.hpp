// Notifications whose rows another session has locked, as any writer can
// (docs/delivery.md#locked-notifications): which are due to be fanned out past the lock, and which of those
// are to be marked once it is gone. Pure bookkeeping, bounded: the search finds again what has no room here.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/store/backlog/queue_scan.hpp"

namespace dispatcher {

class LockedNotifications {
 public:
  /// Its row was locked: by another dispatcher, which is done soon, or by a session that is not.
  void found(const store::NewNotification& notification, platform::MonotonicTime now);
  /// Those to be tried once more; until `end_retries` those that are found are locked for the second time.
  std::vector<store::NewNotification> take_retries(platform::MonotonicTime now, std::size_t most);
  void end_retries() { retrying_.clear(); }
  /// Those that were locked twice.
  std::vector<store::NewNotification> take_locked(platform::MonotonicTime now, std::size_t most);

  /// It has its deliveries; its row does not say so yet.
  void fanned_out(delivery::NotificationId id, platform::MonotonicTime now);
  /// Those to be marked in their rows, now and then.
  std::vector<delivery::NotificationId> take_unfinished(platform::MonotonicTime now, std::size_t most);

  /// When any has something to give.
  std::optional<platform::MonotonicTime> next_due() const;

 private:
  struct Found {
    store::NewNotification notification;
    platform::MonotonicTime due;
  };
  using Queue = std::deque<Found>;  // by `due`
  std::vector<store::NewNotification> take(Queue& queue, platform::MonotonicTime now, std::size_t most);

  Queue retries_, locked_;
  std::set<delivery::NotificationId> known_;  // of both
  std::set<delivery::NotificationId> retrying_;
  std::set<delivery::NotificationId> unfinished_;
  delivery::NotificationId last_taken_ = 0;  // of unfinished_
  platform::MonotonicTime next_finish_{};
};

}  // namespace dispatcher
