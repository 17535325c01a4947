// One pool of connections per host (name and port): the requests of all webhooks share the open connections,
// one after the other. A request waits until add(), ended() or overdue() returns it for the caller to
// start; from then until ended() it is in flight. Another connection is opened only if a request would wait
// for long: a TLS handshake costs both sides more than ten deliveries, and a receiver that is down should be
// tried once, not ten times. Pure bookkeeping.
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

/// The longest life of a kept connection, however busy, because a new connection uses the present DNS answer
/// and checks the certificate. Equal to the longest life of a DNS answer (resolver.hpp).
inline constexpr std::chrono::seconds connection_life{60};

class ConnectionPools {
 public:
  /// `per_host`: most requests in flight to one host.
  explicit ConnectionPools(unsigned per_host) : per_host_(per_host) {}

  /// Adds a request. If nothing is in flight to its host, or a connection is free, returns the pool's next
  /// request, to be started. None: all wait.
  std::optional<Request> add(Request request, platform::MonotonicTime now);

  /// Notes that a request in flight has ended, and returns the next request to start, if any. `kept`: the
  /// connection of the ended request can be used again.
  std::optional<Request> ended(const std::string& host, delivery::WebhookId webhook, bool kept,
                               platform::MonotonicTime now);
  /// True: nothing is in flight to the host, and a connection to it is open. Also true for a host without a
  /// pool: an unused pool with one connection is forgotten at once, so a connection may still be open.
  bool has_idle(const std::string& host) const {
    const auto pool = pools_.find(host);
    return pool == pools_.end() || (pool->second.active == 0 && pool->second.idle > 0);
  }
  /// Notes how long an answered request took.
  void answered(const std::string& host, platform::Milliseconds took);

  struct Overdue {
    std::vector<Request> start;  // each on a further connection
    /// All waiting requests of webhooks with a request that has waited for a second; other webhooks may use
    /// the slots.
    std::vector<Request> hand_back;
  };
  /// Why a pool needs another connection.
  enum class Need {
    expected,  // at the pool's pace, its last request would wait for long
    waited,    // a request has waited for long
    none_yet,  // a request has waited for long, and its webhook has nothing in flight
  };
  /// Returns requests to start on further connections, as far as `may_open(host, need)` allows, and requests
  /// to hand back.
  template <class F>
  Overdue overdue(platform::MonotonicTime now, F&& may_open);

  /// Removes and returns the waiting requests of a webhook, or (drop_all) of all webhooks.
  std::vector<Request> drop(const std::string& host, delivery::WebhookId webhook);
  std::vector<Request> drop_all();

  /// When to call overdue() next; nullopt: no request waits.
  std::optional<platform::MonotonicTime> next_overdue() const;

  /// Number of pools. A pool with several open connections outlasts its requests, for connection_life.
  std::size_t size() const { return pools_.size(); }

 private:
  struct Waiting {
    Request request;
    platform::MonotonicTime since;
  };
  /// The requests of one webhook, of which at most `slots` are in flight.
  struct Queue {
    unsigned slots = 1;
    unsigned active = 0;  // in flight
    std::deque<Waiting> waiting;
    bool may_start() const { return active < slots && !waiting.empty(); }
  };
  struct Pool {
    unsigned active = 0;  // requests in flight
    unsigned idle = 0;    // an estimate of open and free connections; a wrong one costs a handshake or a wait
    std::map<delivery::WebhookId, Queue> queues;
    delivery::WebhookId last_served = 0;
    std::size_t waiting = 0;                             // requests that wait
    std::chrono::duration<double, std::milli> answer{};  // average time of the last answers, in milliseconds
    platform::MonotonicTime opened{};  // when the pool last needed another connection, or last got a request
                                       // while nothing was in flight
    platform::MonotonicTime ended{};   // when the last attempt ended
    std::optional<platform::MonotonicTime> overdue;  // the pool's key in overdue_
    bool in_unused = false;                          // the pool has an entry in unused_
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
  std::set<std::pair<platform::MonotonicTime, std::string>> overdue_;   // pools to look at, and when
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
      // Set even if may_open refuses, so that the next check comes 20 ms later (`between_connections`).
      pool->second.opened = now;
      if (!may_open(pool->first, *need)) break;
      result.start.push_back(std::move(*start_next(pool)));
      if (*need != Need::none_yet) break;  // one connection at a time
    }
    schedule(pool, now);
    forget_if_done(pool);
  }
  return result;
}

}  // namespace dispatcher
