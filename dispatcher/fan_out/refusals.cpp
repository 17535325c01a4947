#include "dispatcher/fan_out/refusals.hpp"

#include <algorithm>

namespace dispatcher {

bool Refusals::refused(delivery::NotificationId id, platform::MonotonicTime now) {
  const auto known = refused_.find(id);
  if (known == refused_.end()) {
    if (has_room(now)) refused_.emplace(id, Refusal{passed_, by_age_.insert(by_age_.end(), id), now});
    return false;
  }
  by_age_.splice(by_age_.end(), by_age_, known->second.age);
  known->second.last = now;
  if (known->second.passed == passed_ || !spend(now)) return false;
  forget(known);
  return true;
}

void Refusals::passed(delivery::NotificationId id) {
  ++passed_;
  if (const auto known = refused_.find(id); known != refused_.end()) forget(known);
}

void Refusals::forget(std::map<delivery::NotificationId, Refusal>::iterator which) {
  by_age_.erase(which->second.age);
  refused_.erase(which);
}

/// True: one more notification can be remembered. To make room, forgets the notification that was refused
/// longest ago, but only if the time `remembered` has passed since that refusal. Without this condition,
/// if more than most_known notifications were refused again and again in the same order, each would be
/// forgotten before its next refusal.
bool Refusals::has_room(platform::MonotonicTime now) {
  if (refused_.size() < most_known) return true;
  const auto oldest = refused_.find(by_age_.front());
  if (now < oldest->second.last + remembered) return false;
  forget(oldest);
  return true;
}

/// Takes one from the allowance. False: none is left.
bool Refusals::spend(platform::MonotonicTime now) {
  const auto more = (now - filled_) / each;
  if (more > 0) {
    allowance_ = static_cast<unsigned>(
        std::min<std::int64_t>(at_once, allowance_ + std::min<std::int64_t>(more, at_once)));
    filled_ += more * each;
  }
  if (allowance_ == 0) return false;
  --allowance_;
  return true;
}

}  // namespace dispatcher
