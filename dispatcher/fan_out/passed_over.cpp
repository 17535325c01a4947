#include "dispatcher/fan_out/passed_over.hpp"

#include <algorithm>

namespace dispatcher {

void PassedOver::note(const store::NotificationKey& notification, Outcome outcome,
                      platform::MonotonicTime now) {
  auto found = rows_.find(notification.id);
  if (is_passed_over(outcome)) {
    if (found == rows_.end()) {
      if (rows_.size() == most) return;
      found = rows_.emplace(notification.id, Row{notification.entity, now}).first;
    }
    auto& row = found->second;
    if (outcome == Outcome::row_locked)
      row.locked_since = row.locked_since.value_or(now);
    else if (outcome != Outcome::untried)
      row.locked_since.reset();
    const auto next = outcome == Outcome::untried ? shortest_wait : 2 * row.wait;
    wait(found, std::clamp(next, shortest_wait, longest_wait), now);
  } else if (found != rows_.end()) {
    if (waits(outcome)) return wait(found, std::max(found->second.wait, shortest_wait), now);
    by_due_.erase({found->second.due, notification.id});
    rows_.erase(found);
  }
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

}  // namespace dispatcher
