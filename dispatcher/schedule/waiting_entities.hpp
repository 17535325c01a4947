// The order in which entities that wait get slots. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "dispatcher/schedule/fair_queue.hpp"
#include "lib/delivery/ids.hpp"

namespace dispatcher {

/// With one slot a webhook may have in hand as many deliveries as it answers, one after the other, in 100 ms:
/// five if it answers in 20 ms.
inline constexpr SlotTime slot_carries{100};

/// Goes through the entities that wait. One that is not quick counts as if it had used slot_carries more: its
/// next attempt begins with a handshake, or may take the whole time of an attempt.
class WaitingEntities {
 public:
  /// In the queue, entities that are not quick must be put behind the others by this.
  static constexpr SlotTime behind_quick = std::chrono::years(100);

  /// `queue` outlives this object, and does not change.
  explicit WaitingEntities(const FairQueue<delivery::EntityId>& queue)
      : quick_(queue.order().begin()),
        last_quick_(queue.order().lower_bound({behind_quick, std::numeric_limits<std::int64_t>::min()})),
        other_(last_quick_),
        last_other_(queue.order().end()) {}

  struct Entity {
    SlotTime used;
    delivery::EntityId id;
    bool quick;
  };
  /// `quick`: quick ones come before all others.
  std::optional<Entity> first(bool quick = false) const {
    const auto other =
        other_ == last_other_
            ? std::nullopt
            : std::optional<Entity>({other_->first - behind_quick + slot_carries, other_->second, false});
    if (quick_ == last_quick_ || (!quick && other && other->used < quick_->first)) return other;
    return Entity{quick_->first, quick_->second, true};
  }
  void skip(const Entity& entity) { ++(entity.quick ? quick_ : other_); }
  /// Skips all entities that are quick, or all that are not.
  void skip_all(bool quick) { quick ? quick_ = last_quick_ : other_ = last_other_; }

 private:
  using Place = FairQueue<delivery::EntityId>::Order::const_iterator;
  Place quick_, last_quick_, other_, last_other_;
};

}  // namespace dispatcher
