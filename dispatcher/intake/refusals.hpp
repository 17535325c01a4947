// Which of the notifications that the database refuses are bad, and are to be put aside (docs/delivery.md).
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace dispatcher {

/// Bad is who is refused alone, and again after another one has passed: so it is neither the database nor
/// what all of them have in common. When nothing passes nobody is bad; and however many are, only so many are
/// put aside in a time that somebody can notice a mistake.
class Refusals {
 public:
  static constexpr std::size_t most_known = 4096;
  static constexpr unsigned at_once = 100;
  static constexpr platform::Milliseconds each{100};              // one more may be put aside
  static constexpr platform::Milliseconds remembered{3'600'000};  // without being refused again

  /// One was refused for its content, with nothing else in its transaction. True: it is to be put aside, and
  /// is forgotten.
  bool refused(delivery::NotificationId id, platform::MonotonicTime now);
  /// One that does all that others do, deliveries included, was taken.
  void passed(delivery::NotificationId id);

  bool knows(delivery::NotificationId id) const { return refused_.contains(id); }
  std::size_t known() const { return refused_.size(); }

 private:
  struct Refusal {
    std::uint64_t passed;  // how many had, when it was refused
    std::list<delivery::NotificationId>::iterator age;
    platform::MonotonicTime last;
  };
  void forget(std::map<delivery::NotificationId, Refusal>::iterator which);
  bool has_room(platform::MonotonicTime now);
  bool spend(platform::MonotonicTime now);

  std::map<delivery::NotificationId, Refusal> refused_;
  std::list<delivery::NotificationId> by_age_;  // of their last refusal
  std::uint64_t passed_ = 0;
  unsigned allowance_ = at_once;
  platform::MonotonicTime filled_{};
};

}  // namespace dispatcher
