// Start-time fair queueing (Goyal, Vin and Cheng, 1996; Linux's CFS is similar): ids that wait are served in
// the order of the slot-time that they have used. Pure bookkeeping; every call is O(log n).
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/platform/clock.hpp"

namespace dispatcher {

/// How long slots were held, or are expected to be held.
using SlotTime = platform::Milliseconds;

/// Keeps an account of used slot-time for each id. An id is active while it waits, or holds a charge (from
/// charge() to release()). The minimum follows the lowest account of the active ids, and never falls. A new
/// id begins at the minimum. An inactive id can be forgotten once the minimum has reached its account, or
/// when no id is active.
template <class Id>
class FairQueue {
 public:
  using Order = std::set<std::pair<SlotTime, Id>>;

  void enter(Id id) {
    auto& entry = activate(id);
    if (!std::exchange(entry.waiting, true)) order_.emplace(entry.account + entry.behind, id);
  }
  /// Until the id leaves, order() counts `behind` as used, too.
  void put_behind(Id id, SlotTime behind) {
    auto& entry = entries_.at(id);
    order_.erase({entry.account + entry.behind, id});
    entry.behind = behind;
    order_.emplace(entry.account + behind, id);
  }
  SlotTime behind(Id id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? SlotTime{} : found->second.behind;
  }
  void leave(Id id) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || !std::exchange(found->second.waiting, false)) return;
    order_.erase({found->second.account + std::exchange(found->second.behind, {}), id});
    retire(id, found->second);
  }

  /// The id holds one more charge, for an `expected` time.
  void charge(Id id, SlotTime expected) {
    auto& entry = activate(id);
    ++entry.held;
    move(id, entry, std::max(entry.account, least_) + expected);
    advance();
  }
  /// Raises the minimum to `present` if the minimum is lower: an id that holds charges and does not wait must
  /// not keep the minimum low.
  void pass(SlotTime present) { least_ = std::max(least_, present); }
  /// The id holds one charge less. `correction`: how much longer than expected the charge was held; negative:
  /// how much shorter. The correction lowers no account below the minimum.
  void release(Id id, SlotTime correction) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.held == 0) return;
    auto& entry = found->second;
    move(id, entry, std::max(entry.account + correction, least_));
    --entry.held;
    retire(id, entry);
    advance();
  }

  /// The ids that wait, in the order of their accounts, with `behind`. The lower id wins a tie.
  const Order& order() const { return order_; }
  /// The minimum.
  SlotTime least() const { return least_; }
  SlotTime account(Id id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? least_ : std::max(found->second.account, least_);
  }
  bool knows(Id id) const { return entries_.contains(id); }
  std::size_t size() const { return entries_.size(); }
  /// Forgets one account that can be forgotten, and returns its id.
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
    SlotTime behind{};  // of put_behind()
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
    const auto rename = [&](Order& order, SlotTime behind) {
      if (auto node = order.extract({entry.account + behind, id})) {
        node.value().first = account + behind;
        order.insert(std::move(node));
      }
    };
    rename(active_, {});
    if (entry.waiting) rename(order_, entry.behind);
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
  Order order_;    // ids that wait
  Order active_;   // active ids
  Order retired_;  // inactive ids, until they are forgotten
  SlotTime least_{};
};

}  // namespace dispatcher
