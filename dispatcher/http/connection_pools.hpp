// One pool of connections per destination (host and port): requests of all webhooks share the open
// connections, one after the other. Another connection is opened only if a request would wait for long,
// because a TLS handshake costs both sides more than ten deliveries, and because a receiver that is down
// should be tried once, not ten times. Pure bookkeeping.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "lib/delivery/ids.hpp"

namespace dispatcher {

/// The longest life of a kept connection, however busy: a new one uses the present DNS answer and checks the
/// certificate. Equal to the longest life of a DNS answer (resolver.hpp).
inline constexpr std::chrono::seconds connection_life{60};

class ConnectionPools {
 public:
  /// `per_host`: most requests in flight to one destination.
  explicit ConnectionPools(unsigned per_host) : per_host_(per_host) {}

  /// Adds a request. Returns the request to start, if nothing is in flight to its destination or a connection
  /// is free. None: it waits.
  std::optional<Request> add(Request request, platform::MonotonicTime now);

  /// A started attempt has ended. Returns the request to start next, if any. `kept`: its connection can be
  /// used again.
  std::optional<Request> ended(const std::string& host, delivery::WebhookId webhook, bool kept,
                               platform::MonotonicTime now);
  /// True: the next request would use a connection that the last one left open, because no other request in
  /// flight could take it. Also true for an unknown host: a pool is forgotten when its one connection is idle
  /// or was not kept.
  bool has_idle(const std::string& host) const {
    const auto pool = pools_.find(host);
    return pool == pools_.end() || (pool->second.active == 0 && pool->second.idle > 0);
  }
  /// Tells how long an answered request took.
  void answered(const std::string& host, platform::Milliseconds took);

  struct Overdue {
    std::vector<Request> start;  // each on one more connection
    /// The queues of webhooks with a request that has waited for a second: others may use their slots.
    std::vector<Request> hand_back;
  };
  /// Why a pool needs another connection.
  enum class Need {
    expected,  // at the pool's pace a request would wait for long
    waited,    // a request has waited for long
    none_yet,  // a request has waited for long, and its webhook has none in flight
  };
  /// Returns requests to start on further connections, as far as `may_open` allows one to their host, and
  /// requests to hand back.
  template <class F>
  Overdue overdue(platform::MonotonicTime now, F&& may_open);

  /// Removes and returns the waiting requests of a webhook, or all: they are not going to be started.
  std::vector<Request> drop(const std::string& host, delivery::WebhookId webhook);
  std::vector<Request> drop_all();

  /// When to call overdue() next; none: no request waits.
  std::optional<platform::MonotonicTime> next_overdue() const;

  /// Number of pools: those in use, and for connection_life those that had several connections open.
  std::size_t size() const { return pools_.size(); }

 private:
  struct Waiting {
    Request request;
    platform::MonotonicTime since;
  };
  /// The requests of one webhook. It has at most as many in flight as it has slots.
  struct Queue {
    unsigned slots = 1;
    unsigned active = 0;
    std::deque<Waiting> waiting;
    bool may_start() const { return active < slots && !waiting.empty(); }
  };
  struct Pool {
    unsigned active = 0;
    unsigned idle = 0;  // open and free connections, by estimate; an error costs a handshake or a short wait
    std::map<delivery::WebhookId, Queue> queues;
    delivery::WebhookId last_served = 0;
    std::size_t waiting = 0;                             // requests
    std::chrono::duration<double, std::milli> answer{};  // average time of the last answers, in milliseconds
    platform::MonotonicTime opened{};  // when a connection was last needed, or a request found none in flight
    platform::MonotonicTime ended{};   // when the last attempt ended
    std::optional<platform::MonotonicTime> overdue;  // its key in overdue_
    bool in_unused = false;                          // it has an entry in unused_
  };
  using Pools = std::map<std::string, Pool>;
  using Queues = std::map<delivery::WebhookId, Queue>;

  Queues::iterator next_queue(Pool& pool) const;
  std::optional<Request> start_next(Pools::iterator pool);
  std::optional<Need> needs_another(Pool& pool, platform::MonotonicTime now) const;
  void schedule(Pools::iterator pool, platform::MonotonicTime now);
  void unschedule(Pools::iterator pool);
  static void hand_back(Pool& pool, platform::MonotonicTime now, std::vector<Request>& into);
  static void drop(Pool& pool, Queue& queue, std::vector<Request>& into);
  static void forget_queues(Pool& pool);
  void forget_if_done(Pools::iterator pool);
  void forget_unused(platform::MonotonicTime now);

  unsigned per_host_;
  Pools pools_;
  std::deque<std::pair<platform::MonotonicTime, std::string>> unused_;  // pools to forget, and when
  std::set<std::pair<platform::MonotonicTime, std::string>> overdue_;   // pools where a request waits
};

template <class F>
ConnectionPools::Overdue ConnectionPools::overdue(platform::MonotonicTime now, F&& may_open) {
  Overdue result;
  forget_unused(now);
  while (!overdue_.empty() && overdue_.begin()->first <= now) {
    const auto pool = pools_.find(overdue_.begin()->second);
    unschedule(pool);
    hand_back(pool->second, now, result.hand_back);
    while (const auto need = needs_another(pool->second, now)) {
      // Set even if none may be opened, so that the next check comes between_connections later.
      pool->second.opened = now;
      if (!may_open(pool->first, *need)) break;
      result.start.push_back(std::move(*start_next(pool)));
      if (*need != Need::none_yet) break;  // one at a time
    }
    schedule(pool, now);
    forget_if_done(pool);
  }
  return result;
}

}  // namespace dispatcher
