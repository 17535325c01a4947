#include "dispatcher/fan_out/passed_over.hpp"

#include <algorithm>

namespace dispatcher {

void PassedOver::note(const store::NotificationKey& notification, Outcome outcome,
                      platform::MonotonicTime now) {
  const auto found = is_passed_over(outcome) ? find_or_add(notification, now, most - only_for_refused)
                                             : rows_.find(notification.id);
  if (found == rows_.end()) return;
  auto& row = found->second;
  if (outcome == Outcome::row_locked)
    row.locked_since = row.locked_since.value_or(now);
  else if (outcome != Outcome::untried && outcome != Outcome::put_off)
    row.locked_since.reset();
  if (is_passed_over(outcome)) {
    const auto next = outcome == Outcome::untried ? shortest_wait : 2 * row.wait;
    wait(found, std::clamp(next, shortest_wait, longest_wait), now);
  } else if (waits(outcome)) {
    wait(found, std::max(row.wait, shortest_wait), now);
  } else {
    by_due_.erase({row.due, notification.id});
    rows_.erase(found);
  }
}

/// Returns rows_.end() if the notification is new and `limit` places are taken.
PassedOver::Rows::iterator PassedOver::find_or_add(const store::NotificationKey& notification,
                                                   platform::MonotonicTime now, std::size_t limit) {
  const auto found = rows_.find(notification.id);
  if (found != rows_.end() || rows_.size() >= limit) return found;
  by_due_.emplace(now, notification.id);
  return rows_.emplace(notification.id, Row{notification.entity, now}).first;
}

bool PassedOver::reject_refused(const store::NotificationKey& notification, platform::MonotonicTime now) {
  const auto found = find_or_add(notification, now, most);
  if (found == rows_.end()) return false;
  auto& refused_at = found->second.refused_at;
  if (!refused_at) refused_at = accepted_;
  if (*refused_at == accepted_ || !spend(now)) return false;
  refused_at.reset();
  return true;
}

bool PassedOver::is_refused(delivery::NotificationId id) const {
  const auto found = rows_.find(id);
  return found != rows_.end() && found->second.refused_at;
}

/// True: one more notification may be rejected now.
bool PassedOver::spend(platform::MonotonicTime now) {
  const auto to = std::max(spent_to_, now - at_once * each) + each;
  if (to > now) return false;
  spent_to_ = to;
  return true;
}

void PassedOver::wait(Rows::iterator which, platform::Milliseconds time, platform::MonotonicTime now) {
  by_due_.erase({which->second.due, which->first});
  which->second.wait = time;
  which->second.due = now + time;
  by_due_.emplace(which->second.due, which->first);
}

std::vector<store::NotificationKey> PassedOver::due(platform::MonotonicTime now, std::size_t limit) const {
  std::vector<store::NotificationKey> result;
  for (const auto& [due, id] : by_due_) {
    if (due > now || result.size() == limit) break;
    result.push_back({id, rows_.at(id).entity});
  }
  return result;
}

std::optional<platform::MonotonicTime> PassedOver::next_due() const {
  return by_due_.empty() ? std::nullopt : std::optional(by_due_.begin()->first);
}

PassedOver::Locked PassedOver::locked_for(platform::MonotonicTime::duration least,
                                          platform::MonotonicTime now) const {
  Locked result;
  for (const auto& [id, row] : rows_) {
    if (!row.locked_since || now - *row.locked_since < least) continue;
    ++result.count;
    if (now - *row.locked_since > result.since) {
      result.since = now - *row.locked_since;
      result.first = {id, row.entity};
    }
  }
  return result;
}

void PassedOver::forget_locks() {
  for (auto& [id, row] : rows_) row.locked_since.reset();
}

}  // namespace dispatcher
