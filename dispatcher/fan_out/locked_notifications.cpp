#include "dispatcher/fan_out/locked_notifications.hpp"

#include <algorithm>

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr auto until_retry = 50ms;  // another dispatcher locks rows this long while it isolates a refused one
constexpr auto until_past_lock = 15ms;
constexpr auto between_finishes = 1s;
constexpr std::size_t most_known = 10'000;

}  // namespace

void LockedNotifications::found(const store::NotificationKey& notification, platform::MonotonicTime now) {
  add(retries_, {notification, now + until_retry});
}

void LockedNotifications::found_again(const store::NotificationKey& notification,
                                      platform::MonotonicTime now) {
  add(locked_, {notification, now + until_past_lock});
}

void LockedNotifications::add(Queue& queue, const Found& found) {
  if (known_.size() < most_known && known_.insert(found.notification.id).second) queue.push_back(found);
}

std::vector<store::NotificationKey> LockedNotifications::take_retries(platform::MonotonicTime now,
                                                                      std::size_t most) {
  return take(retries_, now, most);
}

std::vector<store::NotificationKey> LockedNotifications::take_locked(platform::MonotonicTime now,
                                                                     std::size_t most) {
  return take(locked_, now, most);
}

std::vector<store::NotificationKey> LockedNotifications::take(Queue& queue, platform::MonotonicTime now,
                                                              std::size_t most) {
  std::vector<store::NotificationKey> due;
  while (!queue.empty() && queue.front().due <= now && due.size() < most) {
    due.push_back(queue.front().notification);
    known_.erase(due.back().id);
    queue.pop_front();
  }
  return due;
}

void LockedNotifications::fanned_out(delivery::NotificationId id, platform::MonotonicTime now) {
  if (unfinished_.empty()) next_finish_ = now + between_finishes;
  if (unfinished_.size() < most_known) unfinished_.insert(id);
}

std::vector<delivery::NotificationId> LockedNotifications::take_unfinished(platform::MonotonicTime now,
                                                                           std::size_t most) {
  if (unfinished_.empty() || now < next_finish_) return {};
  next_finish_ = now + between_finishes;
  std::vector<delivery::NotificationId> ids;
  // Begins after the last id taken. The ids of rows that stay locked are added again: a call that began at
  // the lowest id could take the same ids every time and never reach the others.
  for (auto next = unfinished_.upper_bound(last_taken_); ids.size() < most && !unfinished_.empty();) {
    if (next == unfinished_.end()) next = unfinished_.begin();
    ids.push_back(*next);
    next = unfinished_.erase(next);
  }
  last_taken_ = ids.back();
  return ids;
}

std::optional<platform::MonotonicTime> LockedNotifications::next_due() const {
  std::optional<platform::MonotonicTime> next;
  const auto consider = [&next](platform::MonotonicTime due) { next = next ? std::min(*next, due) : due; };
  if (!retries_.empty()) consider(retries_.front().due);
  if (!locked_.empty()) consider(locked_.front().due);
  if (!unfinished_.empty()) consider(next_finish_);
  return next;
}

}  // namespace dispatcher
