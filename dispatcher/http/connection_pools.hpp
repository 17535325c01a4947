// One pool per webhook: requests for one receiver follow each other on the connections that are already open,
// and another connection is opened only when those are busy for long. A TLS handshake costs both sides more
// than ten deliveries do, and a receiver that is not there is asked once, not ten times. Pure bookkeeping.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "http/attempt.hpp"

namespace dispatcher {

class ConnectionPools {
 public:
  /// `plenty`: with no more requests than this in all pools, none is handed back.
  explicit ConnectionPools(std::size_t plenty) : plenty_(plenty) {}

  /// Nothing of the pool is under way, or a connection of it is free: start the request that comes back.
  /// None: it waits its turn.
  std::optional<Request> add(Request request, platform::MonotonicTime now);

  /// An attempt that was started has ended; the one to start next, if any. `kept`: its connection can be used
  /// again.
  std::optional<Request> ended(delivery::WebhookId webhook, bool kept, platform::MonotonicTime now);

  struct Overdue {
    std::vector<Request> start;  // each on one more connection of its pool
    std::vector<Request>
        hand_back;  // their receiver has answered nothing for a second, and others need the slots
  };
  /// What one more connection would be worth it for, where `may_open` says that none is being made; and what
  /// is to be handed back.
  template <class F>
  Overdue overdue(platform::MonotonicTime now, F&& may_open);

  /// How long a new connection took to be made. One more is worth it where those that wait would take twice
  /// as long, at the pace of their pool. Under load both grow alike, so that load does not open connections
  /// that make it worse.
  void connection_made(platform::Milliseconds took);
  void answered(delivery::WebhookId webhook, platform::Milliseconds took, platform::MonotonicTime now);

  /// What waits in a pool, or in all: they are not going to be started.
  std::vector<Request> drop(delivery::WebhookId webhook);
  std::vector<Request> drop_all();

  /// When the next pool is to be looked at; none when nothing waits.
  std::optional<platform::MonotonicTime> next_overdue() const;

 private:
  using Average = std::chrono::duration<double, std::milli>;
  struct Pool {
    unsigned active = 0;
    unsigned idle = 0;  // connections that are probably open; an error costs a handshake or a little patience
    std::deque<Request> waiting;
    Average answer{};                    // how long the last few took
    platform::MonotonicTime progress{};  // its last answer, or its first request since it was empty
    platform::MonotonicTime opened{};    // its last connection
    platform::MonotonicTime overdue{};   // when it is to be looked at
  };
  using PoolMap = std::map<delivery::WebhookId, Pool>;

  static bool stalled(const Pool& pool, platform::MonotonicTime now);
  void wait_from(PoolMap::iterator found, platform::MonotonicTime now);
  void stop_waiting(PoolMap::iterator pool);
  Request start_next(PoolMap::iterator found, platform::MonotonicTime now);
  void forget_if_done(PoolMap::iterator pool);
  std::vector<Request> drop(PoolMap::iterator pool);

  std::size_t plenty_;
  std::size_t requests_ = 0;  // under way or waiting
  PoolMap pools_;
  Average handshake_{100};  // of the last few; to begin with, what is usual on the Internet
  std::set<std::pair<platform::MonotonicTime, delivery::WebhookId>> overdue_;  // pools where something waits
};

template <class F>
ConnectionPools::Overdue ConnectionPools::overdue(platform::MonotonicTime now, F&& may_open) {
  Overdue result;
  while (!overdue_.empty() && overdue_.begin()->first <= now) {
    const auto pool = pools_.find(overdue_.begin()->second);
    if (requests_ > plenty_ && stalled(pool->second, now)) {
      for (auto& request : drop(pool)) result.hand_back.push_back(std::move(request));
    } else if (may_open(pool->first)) {
      pool->second.opened = now;
      result.start.push_back(start_next(pool, now));
    } else {
      pool->second.opened = now;  // it is looked at again soon
      stop_waiting(pool);
      wait_from(pool, now);
    }
  }
  return result;
}

}  // namespace dispatcher
