// One pool per destination (host and port): requests to it follow each other on the connections that are
// already open, whichever webhook they are of. Another connection is opened only for what would wait for
// long. A TLS handshake costs both sides more than ten deliveries do, and a receiver that is not there is
// asked once, not ten times. Pure bookkeeping.
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

namespace dispatcher {

/// Of a kept connection, however busy: then what DNS says, and the certificate, are looked at again. As long
/// as an answer of DNS may be kept (resolver.hpp).
inline constexpr std::chrono::seconds connection_life{60};

class ConnectionPools {
 public:
  /// `per_host`: requests under way to one destination, at most.
  explicit ConnectionPools(unsigned per_host) : per_host_(per_host) {}

  /// Nothing is under way to its destination, or a connection is free: start the request that comes back.
  /// None: it waits its turn.
  std::optional<Request> add(Request request, platform::MonotonicTime now);

  /// An attempt that was started has ended; the one to start next, if any. `kept`: its connection can be used
  /// again.
  std::optional<Request> ended(const std::string& host, delivery::WebhookId webhook, bool kept,
                               platform::MonotonicTime now);
  /// Whether a request would find the connection that the last one has left open: nothing else is under way
  /// that could have taken it.
  bool has_idle(const std::string& host) const {
    const auto pool = pools_.find(host);
    return pool == pools_.end() || (pool->second.active == 0 && pool->second.idle > 0);
  }
  /// How long one that was answered took.
  void answered(const std::string& host, platform::Milliseconds took);

  struct Overdue {
    std::vector<Request> start;      // each on one more connection
    std::vector<Request> hand_back;  // they have waited for a second: somebody else may use their slots
  };
  /// Why another connection is wanted.
  enum class Need {
    expected,  // a request would wait for long at the pace of its pool
    waited,    // it has
    none_yet,  // it has, and nothing of its webhook is under way
  };
  /// Where `may_open` allows another connection to a host, what is to be started on it; and what is to be
  /// handed back.
  template <class F>
  Overdue overdue(platform::MonotonicTime now, F&& may_open);

  /// What waits of a webhook, or in all: they are not going to be started.
  std::vector<Request> drop(const std::string& host, delivery::WebhookId webhook);
  std::vector<Request> drop_all();

  /// When the next pool is to be looked at; none when nothing waits.
  std::optional<platform::MonotonicTime> next_overdue() const;

  /// Destinations of which something is remembered: those at work, and those with kept connections.
  std::size_t size() const { return pools_.size(); }

 private:
  struct Waiting {
    Request request;
    platform::MonotonicTime since;
  };
  /// Of a webhook: as many of its requests are under way as it has slots.
  struct Queue {
    unsigned slots = 1;
    unsigned active = 0;
    std::deque<Waiting> waiting;
    bool may_start() const { return active < slots && !waiting.empty(); }
  };
  struct Pool {
    unsigned active = 0;
    unsigned idle = 0;  // connections that are probably open; an error costs a handshake or a little patience
    std::map<delivery::WebhookId, Queue> queues;
    delivery::WebhookId turn = 0;                        // the last one started
    std::size_t waiting = 0;                             // requests
    std::chrono::duration<double, std::milli> answer{};  // how long the last few took
    platform::MonotonicTime opened{};                    // its last connection
    platform::MonotonicTime ended{};                     // the last attempt
    std::optional<platform::MonotonicTime> overdue;      // its key in overdue_
    bool in_unused = false;                              // it has an entry there
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
  std::deque<std::pair<platform::MonotonicTime, std::string>> unused_;  // pools to look at, and when
  std::set<std::pair<platform::MonotonicTime, std::string>> overdue_;   // pools where something waits
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
      pool->second.opened = now;  // if none may be opened, it is looked at again soon
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
