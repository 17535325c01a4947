// Decides which request starts next, and when a host gets a further connection. The requests of all webhooks
// to one host (name and port) share the host's connections, because a TLS handshake costs both sides more
// than ten deliveries, and because a receiver that is down should be tried once, not ten times. Each
// connection carries one request after the other.
//
// A request waits from add() until a function returns it to be started. It is in flight from then until
// ended(). Pure bookkeeping.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "lib/delivery/ids.hpp"

namespace dispatcher {

/// No connection is kept for longer, however busy, because a new one uses the present DNS answer and checks
/// the certificate.
inline constexpr std::chrono::seconds longest_life{120};
/// How long a connection to a host (name and port) is kept: 60 to 120 s. Hosts have different lives, because
/// a burst to a thousand hosts makes a thousand connections together, which must not end together.
std::chrono::seconds connection_life(const std::string& host);

/// What a request that asks for a further connection finds.
enum class Connecting {
  no,            // no connection to its host is being made
  yes,           // one is: looked up, waiting to be dialled, or dialled
  others_first,  // connections, of any hosts, that were asked for earlier wait for their turn to be dialled
};

class ConnectionPools {
 public:
  /// `per_host`: most requests in flight to one host, at least 1.
  explicit ConnectionPools(unsigned per_host) : per_host_(per_host) {}

  /// Adds a request. Returns the host's next request to start; nullopt: all wait for a connection.
  std::optional<Request> add(Request request, platform::MonotonicTime now);

  /// Notes that a request in flight has ended, and returns the host's next request to start, if any. `kept`:
  /// the connection can be used again.
  std::optional<Request> ended(const std::string& host, delivery::WebhookId webhook, bool kept,
                               platform::MonotonicTime now);
  /// Notes how long an answered request took.
  void answered(const std::string& host, platform::Milliseconds took);

  /// True: a connection to the host is probably free. True also for a host without a pool, because one
  /// connection may have been kept.
  bool may_have_idle(const std::string& host) const;

  /// Returns what a request that waits since `since` finds.
  using Find = std::function<Connecting(const Request&, platform::MonotonicTime since)>;
  struct Overdue {
    std::vector<Request> start;      // each on a further connection
    std::vector<Request> hand_back;  // all waiting requests of a webhook once its first has waited for 1 s
  };
  /// Returns requests to start, at most `most`, and to hand back. A request that has waited for 100 ms gets a
  /// further connection, unless it finds Connecting::others_first: on a busy machine all requests wait, and
  /// most of them are served by a kept connection before a new one is made. A request gets one earlier if, at
  /// the average time of answers, the pool's last request would wait for 100 ms. Two limits:
  /// - While a connection to the host is being made, no further one is made.
  /// - If `room` is false, libcurl may close a kept connection, of any host, for each new one. Then a request
  ///   waits for at least 100 ms, and pools get connections in the order in which they asked, one pool every
  ///   20 ms.
  /// A webhook with nothing in flight is exempt from both.
  Overdue overdue(platform::MonotonicTime now, std::size_t most, bool room, const Find& find);
  /// When to call overdue() next; nullopt: not before another function is called.
  std::optional<platform::MonotonicTime> next_overdue() const;

  /// Removes and returns the waiting requests of a webhook, or of all webhooks.
  std::vector<Request> take_waiting(const std::string& host, delivery::WebhookId webhook);
  std::vector<Request> take_all_waiting();

  /// Number of pools. A pool with several open connections stays for longest_life after its last request.
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
    bool has_waited(platform::MonotonicTime now) const;
  };
  using Queues = std::map<delivery::WebhookId, Queue>;
  /// While requests wait, at least one is in flight.
  struct Pool {
    Queues queues;            // of webhooks with requests that wait or are in flight
    std::size_t waiting = 0;  // requests that wait
    unsigned active = 0;      // requests in flight
    unsigned idle = 0;  // estimate of open, free connections; a wrong estimate costs a handshake or a wait
    delivery::WebhookId last_served = 0;
    std::chrono::duration<double, std::milli> answer{};  // average time of the last answers
    platform::MonotonicTime next_connection{};           // no further connection is opened before this time
    std::optional<platform::MonotonicTime> replacement;  // when the pool may replace a kept connection
    std::optional<platform::MonotonicTime> due;          // the pool's key in due_
  };
  using Pools = std::map<std::string, Pool>;

  /// Why a queue needs a further connection.
  enum class Need {
    expected,  // at the pool's pace, the pool's last request would wait for long
    waited,    // its first request has waited for long
    unserved,  // its first request has waited for long, and the webhook has nothing in flight
  };
  struct Candidate {
    Queues::iterator queue;
    Need need;
  };

  bool may_replace(Pool& pool, platform::MonotonicTime now);

  Queues::iterator next_queue(Pool& pool) const;
  std::optional<Candidate> next_for_connection(Pool& pool, platform::MonotonicTime now) const;
  std::optional<Request> start_next(Pool& pool);
  static Request start(Pool& pool, Queues::iterator queue);
  static Queues::iterator take_waiting(Pool& pool, Queues::iterator queue, std::vector<Request>& into);
  static void hand_back(Pool& pool, platform::MonotonicTime now, std::vector<Request>& into);
  void schedule(Pools::iterator pool, platform::MonotonicTime now);
  void retire(Pools::iterator pool, platform::MonotonicTime now);
  void set_due(Pools::iterator pool, platform::MonotonicTime at);
  void clear_due(Pools::iterator pool);

  unsigned per_host_;
  platform::MonotonicTime next_replacement_{};
  Pools pools_;
  std::set<std::pair<platform::MonotonicTime, std::string>> due_;  // pools that overdue() looks at, and when
};

}  // namespace dispatcher
