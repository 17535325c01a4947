// Decides which of the notifications that the database refuses are rejected
// (docs/delivery.md#bad-rows). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace dispatcher {

/// A notification is bad if the database refuses it twice, each time alone in its transaction, and accepts
/// another one in between: then the cause is neither the database nor something that all notifications share.
/// The number rejected per second is limited, so that an operator can notice a mistake.
class Refusals {
 public:
  static constexpr std::size_t most_known = 4096;     // refused notifications that are remembered
  static constexpr unsigned at_once = 100;            // rejected without a wait
  static constexpr platform::Milliseconds each{100};  // after at_once: one more per this time
  /// When most_known notifications are remembered, a new one replaces the notification that was refused
  /// longest ago, but only if that refusal is at least this long ago. Otherwise the new one is not
  /// remembered.
  static constexpr platform::Milliseconds remembered{3'600'000};

  /// The database refused the notification for its content, alone in its transaction. True: reject
  /// it; it is forgotten here.
  bool refused(delivery::NotificationId id, platform::MonotonicTime now);
  /// The database accepted this notification. To be called only for a notification with deliveries: only its
  /// fan-out writes every kind of row, and so shows that the database accepts every kind.
  void passed(delivery::NotificationId id);

  bool knows(delivery::NotificationId id) const { return refused_.contains(id); }
  std::size_t known() const { return refused_.size(); }

 private:
  struct Refusal {
    std::uint64_t passed;  // passed_ at the time of the first refusal
    std::list<delivery::NotificationId>::iterator age;
    platform::MonotonicTime last;
  };
  void forget(std::map<delivery::NotificationId, Refusal>::iterator which);
  bool has_room(platform::MonotonicTime now);
  bool spend(platform::MonotonicTime now);

  std::map<delivery::NotificationId, Refusal> refused_;
  std::list<delivery::NotificationId> by_age_;  // in the order of the last refusals
  std::uint64_t passed_ = 0;
  unsigned allowance_ = at_once;
  platform::MonotonicTime filled_{};
};

}  // namespace dispatcher
