#include "dispatcher/http/connection_pools.hpp"

#include <algorithm>

#include "dispatcher/schedule/fair_slots.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

/// A request that has waited this long justifies another connection (docs/delivery.md#how-slots-are-shared).
constexpr platform::Milliseconds long_wait = slot_carries;
constexpr platform::Milliseconds between_connections{20};  // of one pool
constexpr platform::Milliseconds longest_wait{1000};       // for a connection
constexpr platform::Milliseconds between_looks{200};       // at a pool with requests that cannot start

}  // namespace

std::optional<Request> ConnectionPools::add(Request request, platform::MonotonicTime now) {
  const auto found = pools_.try_emplace(request.host).first;
  Pool& pool = found->second;
  auto& queue = pool.queues[request.delivery.webhook];
  queue.slots = std::max(request.slots, 1U);
  queue.waiting.push_back({std::move(request), now});
  ++pool.waiting;
  if (pool.active == 0) pool.opened = now;
  std::optional<Request> next;
  if (pool.active == 0 || pool.idle > 0) next = start_next(found);
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
  pool.ended = now;
  auto next = start_next(found);
  schedule(found, now);
  forget_if_done(found);
  return next;
}

void ConnectionPools::answered(const std::string& host, platform::Milliseconds took) {
  const auto found = pools_.find(host);
  if (found == pools_.end()) return;
  auto& answer = found->second.answer;
  answer += (std::chrono::duration<double, std::milli>(took) - answer) / 4;
}

std::vector<Request> ConnectionPools::drop(const std::string& host, delivery::WebhookId webhook) {
  std::vector<Request> result;
  const auto found = pools_.find(host);
  if (found == pools_.end()) return result;
  const auto queue = found->second.queues.find(webhook);
  if (queue != found->second.queues.end()) drop(found->second, queue->second, result);
  forget_queues(found->second);
  return result;
}

std::vector<Request> ConnectionPools::drop_all() {
  std::vector<Request> result;
  for (auto& [host, pool] : pools_) {
    for (auto& [webhook, queue] : pool.queues) drop(pool, queue, result);
    forget_queues(pool);
  }
  return result;
}

std::optional<platform::MonotonicTime> ConnectionPools::next_overdue() const {
  return overdue_.empty() ? std::nullopt : std::optional(overdue_.begin()->first);
}

/// Returns the queue to serve next, webhooks in turn; end: no request may start.
ConnectionPools::Queues::iterator ConnectionPools::next_queue(Pool& pool) const {
  const auto end = pool.queues.end();
  if (pool.waiting == 0 || pool.active >= per_host_) return end;
  const auto may_start = [](const auto& queue) { return queue.second.may_start(); };
  const auto first = pool.queues.upper_bound(pool.last_served);
  if (const auto found = std::find_if(first, end, may_start); found != end) return found;
  const auto found = std::find_if(pool.queues.begin(), first, may_start);
  return found == first ? end : found;
}

std::optional<Request> ConnectionPools::start_next(Pools::iterator found) {
  Pool& pool = found->second;
  const auto queue = next_queue(pool);
  if (queue == pool.queues.end()) return std::nullopt;
  Request request = std::move(queue->second.waiting.front().request);
  queue->second.waiting.pop_front();
  ++queue->second.active;
  --pool.waiting;
  ++pool.active;
  if (pool.idle > 0) --pool.idle;
  pool.last_served = queue->first;
  return request;
}

/// Why the pool needs another connection now; nullopt: no need.
std::optional<ConnectionPools::Need> ConnectionPools::needs_another(Pool& pool,
                                                                    platform::MonotonicTime now) const {
  const auto queue = next_queue(pool);
  if (queue == pool.queues.end()) return std::nullopt;
  const auto waited = [now](const Queue& one) { return now - one.waiting.front().since >= long_wait; };
  const auto without = std::ranges::find_if(pool.queues, [&](const auto& one) {
    return one.second.active == 0 && one.second.may_start() && waited(one.second);
  });
  if (without != pool.queues.end()) {
    pool.last_served = without->first.previous();  // so that this webhook is served next
    return Need::none_yet;
  }
  if (waited(queue->second)) return Need::waited;
  const auto expected = pool.answer * static_cast<double>(pool.waiting) / std::max(pool.active, 1U);
  return expected > long_wait ? std::optional(Need::expected) : std::nullopt;
}

/// Sets when overdue() must look at the pool, unless that is set already.
void ConnectionPools::schedule(Pools::iterator found, platform::MonotonicTime now) {
  Pool& pool = found->second;
  if (pool.waiting == 0) return unschedule(found);
  if (pool.overdue) return;
  const auto queue = next_queue(pool);
  auto at = now + between_looks;
  if (queue != pool.queues.end())
    at = needs_another(pool, now) ? now : queue->second.waiting.front().since + long_wait;
  pool.overdue = std::max(at, pool.opened + between_connections);
  overdue_.emplace(*pool.overdue, found->first);
}

void ConnectionPools::unschedule(Pools::iterator pool) {
  if (pool->second.overdue) overdue_.erase({*pool->second.overdue, pool->first});
  pool->second.overdue.reset();
}

void ConnectionPools::hand_back(Pool& pool, platform::MonotonicTime now, std::vector<Request>& into) {
  for (auto& [webhook, queue] : pool.queues) {
    if (!queue.waiting.empty() && now - queue.waiting.front().since >= longest_wait) drop(pool, queue, into);
  }
  forget_queues(pool);
}

void ConnectionPools::drop(Pool& pool, Queue& queue, std::vector<Request>& into) {
  for (auto& waiting : queue.waiting) into.push_back(std::move(waiting.request));
  pool.waiting -= queue.waiting.size();
  queue.waiting.clear();
}

void ConnectionPools::forget_queues(Pool& pool) {
  std::erase_if(pool.queues,
                [](const auto& queue) { return queue.second.active == 0 && queue.second.waiting.empty(); });
}

/// Forgets a pool that is not in use: after connection_life if several connections are open, otherwise at
/// once, because a new pool begins with one connection.
void ConnectionPools::forget_if_done(Pools::iterator found) {
  Pool& pool = found->second;
  if (pool.active > 0 || pool.waiting > 0) return;
  unschedule(found);
  if (pool.in_unused) return;
  if (pool.idle <= 1) {
    pools_.erase(found);
  } else {
    pool.in_unused = true;
    unused_.emplace_back(pool.ended + connection_life, found->first);
  }
}

/// Forgets pools that have not been used for connection_life: their connections are too old to be used.
void ConnectionPools::forget_unused(platform::MonotonicTime now) {
  while (!unused_.empty() && unused_.front().first <= now) {
    const auto found = pools_.find(unused_.front().second);
    unused_.pop_front();
    Pool& pool = found->second;
    pool.in_unused = false;
    if (pool.active == 0 && pool.waiting == 0 && pool.ended + connection_life <= now)
      pools_.erase(found);
    else
      forget_if_done(found);
  }
}

}  // namespace dispatcher
