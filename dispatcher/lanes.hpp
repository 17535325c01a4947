// One lane per webhook: requests for one receiver follow each other on the connections that are already open,
// and another connection is opened only when those are busy for long. A TLS handshake costs both sides more
// than ten deliveries do, and a receiver that is not there is asked once, not ten times. Pure bookkeeping.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "attempt.hpp"

namespace dispatcher {

class Lanes {
 public:
  /// `plenty`: with no more requests than this in all lanes, none is handed back.
  explicit Lanes(std::size_t plenty) : plenty_(plenty) {}

  /// Nothing of the lane is under way, or a connection of it is free: start the request that comes back.
  /// None: it waits its turn.
  std::optional<Request> add(Request request, platform::MonotonicTime now);

  /// An attempt that was started has ended; the one to start next, if any. `kept`: its connection can be used
  /// again.
  std::optional<Request> ended(store::WebhookId webhook, bool kept, platform::MonotonicTime now);

  struct Overdue {
    std::vector<Request> start;  // each on one more connection of its lane
    std::vector<Request>
        hand_back;  // their receiver has answered nothing for a second, and others need the slots
  };
  /// What one more connection would be worth it for, where `may_open` says that none is being made; and what
  /// is to be handed back.
  template <class F>
  Overdue overdue(platform::MonotonicTime now, F&& may_open);

  /// How long a new connection took to be made. One more is worth it where those that wait would take twice
  /// as long, at the pace of their lane. Under load both grow alike, so that load does not open connections
  /// that make it worse.
  void connection_made(platform::Milliseconds took);
  void answered(store::WebhookId webhook, platform::Milliseconds took, platform::MonotonicTime now);

  /// What waits in a lane, or in all: they are not going to be started.
  std::vector<Request> drop(store::WebhookId webhook);
  std::vector<Request> drop_all();

  /// When the next lane is to be looked at; none when nothing waits.
  std::optional<platform::MonotonicTime> next_overdue() const;

 private:
  using Average = std::chrono::duration<double, std::milli>;
  struct Lane {
    unsigned active = 0;
    unsigned idle = 0;  // connections that are probably open; an error costs a handshake or a little patience
    std::deque<Request> waiting;
    Average answer{};                    // how long the last few took
    platform::MonotonicTime progress{};  // its last answer, or its first request since it was empty
    platform::MonotonicTime opened{};    // its last connection
    platform::MonotonicTime overdue{};   // when it is to be looked at
  };
  using LaneMap = std::map<store::WebhookId, Lane>;

  static bool stalled(const Lane& lane, platform::MonotonicTime now);
  void wait_from(LaneMap::iterator lane, platform::MonotonicTime now);
  void stop_waiting(LaneMap::iterator lane);
  Request start_next(LaneMap::iterator lane, platform::MonotonicTime now);
  void forget_if_done(LaneMap::iterator lane);
  std::vector<Request> drop(LaneMap::iterator lane);

  std::size_t plenty_;
  std::size_t requests_ = 0;  // under way or waiting
  LaneMap lanes_;
  Average handshake_{100};  // of the last few; to begin with, what is usual on the Internet
  std::set<std::pair<platform::MonotonicTime, store::WebhookId>> overdue_;  // lanes where something waits
};

template <class F>
Lanes::Overdue Lanes::overdue(platform::MonotonicTime now, F&& may_open) {
  Overdue result;
  while (!overdue_.empty() && overdue_.begin()->first <= now) {
    const auto lane = lanes_.find(overdue_.begin()->second);
    if (requests_ > plenty_ && stalled(lane->second, now)) {
      for (auto& request : drop(lane)) result.hand_back.push_back(std::move(request));
    } else if (may_open(lane->first)) {
      lane->second.opened = now;
      result.start.push_back(start_next(lane, now));
    } else {
      lane->second.opened = now;  // it is looked at again soon
      stop_waiting(lane);
      wait_from(lane, now);
    }
  }
  return result;
}

}  // namespace dispatcher
