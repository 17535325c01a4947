// Start-time fair queueing (Goyal, Vin and Cheng, 1996; the kernel's CFS is a relative): who waits is served
// in the order of the slot-time used so far. Pure bookkeeping; every call is O(log n).
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/platform/clock.hpp"

namespace dispatcher {

/// Of slots: how long they were, or are going to be, held.
using SlotTime = platform::Milliseconds;

/// An account for everybody who waits or holds something. Who comes new begins at the least account of those;
/// once that minimum has passed an account which is not used, or nobody is left, it can be forgotten.
template <class Id>
class FairQueue {
 public:
  using Order = std::set<std::pair<SlotTime, Id>>;

  void enter(Id id) {
    auto& entry = activate(id);
    if (!std::exchange(entry.waiting, true)) order_.emplace(entry.account, id);
  }
  void leave(Id id) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || !std::exchange(found->second.waiting, false)) return;
    order_.erase({found->second.account, id});
    retire(id, found->second);
  }

  /// It holds one more, expected to take that long.
  void charge(Id id, SlotTime expected) {
    auto& entry = activate(id);
    ++entry.held;
    move(id, entry, std::max(entry.account, least_) + expected);
    advance();
  }
  /// The minimum is at least this: who only holds something, and waits for nothing, does not keep it back.
  void pass(SlotTime present) { least_ = std::max(least_, present); }
  /// One less, which took that much longer or shorter than expected. Nobody is credited beyond the minimum.
  void release(Id id, SlotTime correction) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.held == 0) return;
    auto& entry = found->second;
    move(id, entry, std::max(entry.account + correction, least_));
    --entry.held;
    retire(id, entry);
    advance();
  }

  /// Those that wait, the one to be served next first.
  const Order& order() const { return order_; }
  /// The present minimum, at which newcomers begin.
  SlotTime least() const { return least_; }
  SlotTime account(Id id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? least_ : std::max(found->second.account, least_);
  }
  bool knows(Id id) const { return entries_.contains(id); }
  std::size_t size() const { return entries_.size(); }
  /// Forgets one account that can be forgotten: whose it was.
  std::optional<Id> forget_one() {
    if (retired_.empty() || (!active_.empty() && retired_.begin()->first > least_)) return std::nullopt;
    const Id id = retired_.begin()->second;
    retired_.erase(retired_.begin());
    entries_.erase(id);
    return id;
  }

 private:
  struct Entry {
    SlotTime account{};
    bool waiting = false;
    unsigned held = 0;
    bool active() const { return waiting || held > 0; }
  };

  Entry& activate(Id id) {
    const auto [found, added] = entries_.try_emplace(id, Entry{.account = least_});
    auto& entry = found->second;
    if (entry.active()) return entry;
    if (!added) retired_.erase({entry.account, id});
    entry.account = std::max(entry.account, least_);
    active_.emplace(entry.account, id);
    return entry;
  }
  void move(Id id, Entry& entry, SlotTime account) {
    const auto rename = [&](Order& order) {
      if (auto node = order.extract({entry.account, id})) {
        node.value().first = account;
        order.insert(std::move(node));
      }
    };
    rename(active_);
    if (entry.waiting) rename(order_);
    entry.account = account;
  }
  void retire(Id id, Entry& entry) {
    if (entry.active()) return;
    active_.erase({entry.account, id});
    retired_.emplace(entry.account, id);
    advance();
  }
  void advance() {
    if (!active_.empty()) least_ = std::max(least_, active_.begin()->first);
  }

  std::unordered_map<Id, Entry> entries_;
  Order order_;    // those that wait
  Order active_;   // those, and those that hold something
  Order retired_;  // the others, until the minimum has passed them
  SlotTime least_{};
};

}  // namespace dispatcher
