// Notifications that fan-out has passed over, because another session has locked their rows, because the
// database refuses them, because only a newer release knows their events, or because their batch did not get
// to them. They are tried again at growing intervals, and delay no other notification. Keeps their list, and
// decides which of the refused ones are rejected. The list is bounded: while it is full, an entity's further
// notifications are found again when the entity is read from its first row. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dispatcher/fan_out/fan_out_outcome.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/types.hpp"

namespace dispatcher {

class PassedOver {
 public:
  static constexpr std::size_t most = 10'000;
  static constexpr std::size_t only_for_refused = 1000;  // of these: places that locks cannot fill
  static constexpr platform::Milliseconds shortest_wait{50};
  static constexpr platform::Milliseconds longest_wait{5000};
  static constexpr unsigned at_once = 100;            // rejected without a wait
  static constexpr platform::Milliseconds each{100};  // after at_once: one more per this time

  /// Learns the outcome of a notification. Outcomes with which it is passed over add it, or double its wait,
  /// or begin its wait anew (`untried`, so that it comes before those that its batch found locked or
  /// refused). With an outcome with which it waits, it keeps its place in the list, if it has one, and its
  /// wait. Any other outcome removes it.
  void note(const store::NotificationKey& notification, Outcome outcome, platform::MonotonicTime now);

  /// The database refused the notification for its content, alone in its transaction: adds it if there is
  /// room. True: reject it (docs/delivery.md#bad-rows). It has then been refused twice, and the database
  /// accepted another one in between, so the cause is neither the database nor something that all
  /// notifications share. The number rejected per second is limited, so that an operator can notice a
  /// mistake.
  bool reject_refused(const store::NotificationKey& notification, platform::MonotonicTime now);
  /// The database accepted a notification. To be called only for one with deliveries: only its fan-out writes
  /// every kind of row, and so shows that the database accepts every kind.
  void accepted() { ++accepted_; }
  bool is_refused(delivery::NotificationId id) const;

  bool contains(delivery::NotificationId id) const { return rows_.contains(id); }
  std::size_t size() const { return rows_.size(); }

  /// Returns the notifications that are due, at most `limit`, those due longest first. They stay in the list.
  std::vector<store::NotificationKey> due(platform::MonotonicTime now, std::size_t limit) const;
  std::optional<platform::MonotonicTime> next_due() const;

  struct Locked {
    std::size_t count = 0;
    store::NotificationKey first{};  // the one locked for the longest time, and how long
    platform::MonotonicTime::duration since{};
  };
  /// The notifications that have been found locked for at least `least`.
  Locked locked_for(platform::MonotonicTime::duration least, platform::MonotonicTime now) const;
  /// Rows are not tried for a time, in which their locks may end: none counts as locked before its next try.
  void forget_locks();

 private:
  struct Row {
    delivery::EntityId entity;
    platform::MonotonicTime due;
    platform::Milliseconds wait{};
    std::optional<platform::MonotonicTime> locked_since{};  // since when each try has found it locked
    std::optional<std::uint64_t> refused_at{};              // accepted_ at the first refusal
  };
  using Rows = std::map<delivery::NotificationId, Row>;
  Rows::iterator find_or_add(const store::NotificationKey& notification, platform::MonotonicTime now,
                             std::size_t limit);
  bool spend(platform::MonotonicTime now);
  void wait(Rows::iterator which, platform::Milliseconds time, platform::MonotonicTime now);

  Rows rows_;
  std::set<std::pair<platform::MonotonicTime, delivery::NotificationId>> by_due_;
  std::uint64_t accepted_ = 0;
  platform::MonotonicTime spent_to_ = platform::MonotonicTime::min();  // each rejection spends `each`
};

}  // namespace dispatcher
