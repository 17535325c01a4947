#include "dispatcher/http/connection_pools.hpp"

#include <algorithm>

#include "dispatcher/schedule/fair_slots.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

/// A request that has waited this long justifies another connection (docs/delivery.md#how-slots-are-shared).
constexpr platform::Milliseconds long_wait = slot_carries;
constexpr platform::Milliseconds between_connections{20};  // of one pool
/// The time between two replacements of a kept connection. On a busy machine all requests wait: without this
/// limit they would close the connections of other hosts, and the handshakes would keep the machine busy.
constexpr platform::Milliseconds between_replacements{20};
constexpr platform::Milliseconds longest_wait{1000};  // of a request for a connection
constexpr platform::Milliseconds between_looks{200};  // at a pool where no request may start

constexpr std::chrono::seconds shortest_life{60};

}  // namespace

std::chrono::seconds connection_life(const std::string& host) {
  constexpr std::size_t lives = (longest_life - shortest_life).count() + 1;
  return shortest_life + std::chrono::seconds(std::hash<std::string>{}(host) % lives);
}

std::optional<Request> ConnectionPools::add(Request request, platform::MonotonicTime now) {
  const auto found = pools_.try_emplace(request.host).first;
  Pool& pool = found->second;
  if (pool.active == 0) {  // new or retired
    clear_due(found);
    pool.next_connection = now + between_connections;
  }
  auto& queue = pool.queues[request.delivery.webhook];
  queue.slots = std::max(request.slots, 1U);
  queue.waiting.push_back({std::move(request), now});
  ++pool.waiting;
  std::optional<Request> next;
  if (pool.active == 0 || pool.idle > 0) next = start_next(pool);
  schedule(found, now);
  return next;
}

std::optional<Request> ConnectionPools::ended(const std::string& host, delivery::WebhookId webhook, bool kept,
                                              platform::MonotonicTime now) {
  const auto found = pools_.find(host);
  if (found == pools_.end()) return std::nullopt;
  auto& pool = found->second;
  const auto queue = pool.queues.find(webhook);
  if (queue != pool.queues.end() && queue->second.active > 0) {
    --queue->second.active;
    --pool.active;
    if (queue->second.active == 0 && queue->second.waiting.empty()) pool.queues.erase(queue);
  }
  if (kept) ++pool.idle;
  auto next = start_next(pool);
  pool.active > 0 ? schedule(found, now) : retire(found, now);
  return next;
}

void ConnectionPools::answered(const std::string& host, platform::Milliseconds took) {
  const auto found = pools_.find(host);
  if (found == pools_.end()) return;
  auto& answer = found->second.answer;
  answer += (std::chrono::duration<double, std::milli>(took) - answer) / 4;
}

bool ConnectionPools::may_have_idle(const std::string& host) const {
  const auto pool = pools_.find(host);
  return pool == pools_.end() || (pool->second.active == 0 && pool->second.idle > 0);
}

ConnectionPools::Overdue ConnectionPools::overdue(platform::MonotonicTime now, std::size_t most, bool room,
                                                  const Find& find) {
  const auto may_open = [&](Need need, Pool& pool, const Waiting& waiting) {
    const auto found = find(waiting.request, waiting.since);
    if (found == Connecting::others_first) return false;
    if (need == Need::unserved) return true;
    if (!room && (need == Need::expected || !may_replace(pool, now))) return false;
    if (found != Connecting::no) return false;
    pool.replacement.reset();
    return true;
  };
  Overdue result;
  while (!due_.empty() && due_.begin()->first <= now && result.start.size() < most) {
    const auto found = pools_.find(due_.begin()->second);
    auto& pool = found->second;
    clear_due(found);
    if (pool.active == 0) {  // without requests for longest_life, see retire()
      pools_.erase(found);
      continue;
    }
    hand_back(pool, now, result.hand_back);
    while (result.start.size() < most) {
      const auto next = next_for_connection(pool, now);
      if (!next) break;
      // Set even if no connection may be opened, so that the next look comes later.
      pool.next_connection = now + between_connections;
      if (!may_open(next->need, pool, next->queue->second.waiting.front())) break;
      result.start.push_back(start(pool, next->queue));
      if (next->need != Need::unserved) break;  // one connection at a time
    }
    schedule(found, now);
  }
  return result;
}

/// Gives the pool the next free time to replace a connection, unless the pool has such a time already, or the
/// next free time is too far away. True: the pool's time has come.
bool ConnectionPools::may_replace(Pool& pool, platform::MonotonicTime now) {
  // A time lapses when it is not used soon: otherwise many pools could save up their times, and then replace
  // connections all at once.
  const bool lapsed = pool.replacement && *pool.replacement + between_looks < now;
  if (!pool.replacement || lapsed) {
    const auto next = std::max(now, next_replacement_);
    if (next > now + longest_wait) return false;
    pool.replacement = next;
    next_replacement_ = next + between_replacements;
  }
  return *pool.replacement <= now;
}

std::optional<platform::MonotonicTime> ConnectionPools::next_overdue() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

std::vector<Request> ConnectionPools::take_waiting(const std::string& host, delivery::WebhookId webhook) {
  std::vector<Request> result;
  const auto found = pools_.find(host);
  if (found == pools_.end()) return result;
  const auto queue = found->second.queues.find(webhook);
  if (queue != found->second.queues.end()) take_waiting(found->second, queue, result);
  return result;
}

std::vector<Request> ConnectionPools::take_all_waiting() {
  std::vector<Request> result;
  for (auto& [host, pool] : pools_) {
    for (auto queue = pool.queues.begin(); queue != pool.queues.end();)
      queue = take_waiting(pool, queue, result);
  }
  return result;
}

bool ConnectionPools::Queue::has_waited(platform::MonotonicTime now) const {
  return now - waiting.front().since >= long_wait;
}

/// Returns the queue to serve next: the pool's webhooks take turns. Returns the end of the queues if no
/// request may start.
ConnectionPools::Queues::iterator ConnectionPools::next_queue(Pool& pool) const {
  const auto end = pool.queues.end();
  if (pool.waiting == 0 || pool.active >= per_host_) return end;
  const auto may_start = [](const auto& queue) { return queue.second.may_start(); };
  const auto first = pool.queues.upper_bound(pool.last_served);
  if (const auto found = std::find_if(first, end, may_start); found != end) return found;
  const auto found = std::find_if(pool.queues.begin(), first, may_start);
  return found == first ? end : found;
}

/// Returns the queue that needs a further connection most; nullopt: none needs one.
std::optional<ConnectionPools::Candidate> ConnectionPools::next_for_connection(
    Pool& pool, platform::MonotonicTime now) const {
  const auto next = next_queue(pool);
  if (next == pool.queues.end()) return std::nullopt;
  const auto is_unserved = [now](const auto& queue) {
    return queue.second.active == 0 && queue.second.may_start() && queue.second.has_waited(now);
  };
  // A quick one is dialled first, so it does not wait for the dial of a slow one.
  auto unserved = std::ranges::find_if(pool.queues, [&](const auto& queue) {
    return is_unserved(queue) && queue.second.waiting.front().request.to_quick;
  });
  if (unserved == pool.queues.end()) unserved = std::ranges::find_if(pool.queues, is_unserved);
  if (unserved != pool.queues.end()) return Candidate{unserved, Need::unserved};
  if (next->second.has_waited(now)) return Candidate{next, Need::waited};
  const auto expected = pool.answer * static_cast<double>(pool.waiting) / std::max(pool.active, 1U);
  if (expected > long_wait) return Candidate{next, Need::expected};
  return std::nullopt;
}

std::optional<Request> ConnectionPools::start_next(Pool& pool) {
  const auto queue = next_queue(pool);
  return queue == pool.queues.end() ? std::nullopt : std::optional(start(pool, queue));
}

Request ConnectionPools::start(Pool& pool, Queues::iterator queue) {
  Request request = std::move(queue->second.waiting.front().request);
  queue->second.waiting.pop_front();
  ++queue->second.active;
  --pool.waiting;
  ++pool.active;
  if (pool.idle > 0) --pool.idle;
  pool.last_served = queue->first;
  return request;
}

/// Moves the waiting requests of `queue` to `into`. Returns the queue that follows.
ConnectionPools::Queues::iterator ConnectionPools::take_waiting(Pool& pool, Queues::iterator queue,
                                                                std::vector<Request>& into) {
  for (auto& waiting : queue->second.waiting) into.push_back(std::move(waiting.request));
  pool.waiting -= queue->second.waiting.size();
  queue->second.waiting.clear();
  return queue->second.active == 0 ? pool.queues.erase(queue) : std::next(queue);
}

void ConnectionPools::hand_back(Pool& pool, platform::MonotonicTime now, std::vector<Request>& into) {
  for (auto queue = pool.queues.begin(); queue != pool.queues.end();) {
    const auto& waiting = queue->second.waiting;
    const bool too_long = !waiting.empty() && now - waiting.front().since >= longest_wait;
    queue = too_long ? take_waiting(pool, queue, into) : std::next(queue);
  }
}

/// Sets when overdue() must look at a pool with requests in flight, unless that is set already. If no request
/// waits, overdue() need not look.
void ConnectionPools::schedule(Pools::iterator found, platform::MonotonicTime now) {
  Pool& pool = found->second;
  if (pool.waiting == 0) return clear_due(found);
  if (pool.due) return;
  const auto queue = next_queue(pool);
  auto at = now + between_looks;
  if (queue != pool.queues.end())
    at = next_for_connection(pool, now) ? now : queue->second.waiting.front().since + long_wait;
  set_due(found, std::max(at, pool.next_connection));
}

/// Forgets a pool without requests. A pool with at most one open connection is forgotten at once, because
/// may_have_idle() assumes that a host without a pool has one open connection. Any other pool is forgotten in
/// overdue(), once its connections are too old to be used.
void ConnectionPools::retire(Pools::iterator pool, platform::MonotonicTime now) {
  clear_due(pool);
  if (pool->second.idle > 1) {
    set_due(pool, now + longest_life);
  } else {
    pools_.erase(pool);
  }
}

void ConnectionPools::set_due(Pools::iterator pool, platform::MonotonicTime at) {
  pool->second.due = at;
  due_.emplace(at, pool->first);
}

void ConnectionPools::clear_due(Pools::iterator pool) {
  if (pool->second.due) due_.erase({*pool->second.due, pool->first});
  pool->second.due.reset();
}

}  // namespace dispatcher
