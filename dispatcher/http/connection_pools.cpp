#include "http/connection_pools.hpp"

#include <algorithm>
#include <iterator>

namespace dispatcher {

namespace {

constexpr platform::Milliseconds stalled_after{1000};
constexpr platform::Milliseconds between_connections{20};  // of one pool
constexpr platform::Milliseconds least_handshake{10};      // an average beyond these is taken for them
constexpr platform::Milliseconds most_handshake{100};
constexpr double handshakes_worth = 2;

/// An average that forgets: each new value counts for an eighth.
template <class Average>
void learn(Average& average, platform::Milliseconds value) {
  average += (Average(value) - average) / 8;
}

}  // namespace

std::optional<Request> ConnectionPools::add(Request request, platform::MonotonicTime now) {
  const auto found = pools_.try_emplace(request.delivery.webhook).first;
  Pool& pool = found->second;
  if (pool.active == 0) pool.progress = pool.opened = now;
  pool.waiting.push_back(std::move(request));
  ++requests_;
  if (pool.waiting.size() == 1) {
    if (pool.active == 0 || pool.idle > 0) return start_next(found, now);
  } else {
    stop_waiting(found);
  }
  wait_from(found, now);
  return std::nullopt;
}

std::optional<Request> ConnectionPools::ended(delivery::WebhookId webhook, bool kept,
                                              platform::MonotonicTime now) {
  const auto pool = pools_.find(webhook);
  if (pool == pools_.end()) return std::nullopt;
  --pool->second.active;
  --requests_;
  if (kept) ++pool->second.idle;
  if (!pool->second.waiting.empty()) return start_next(pool, now);
  forget_if_done(pool);
  return std::nullopt;
}

void ConnectionPools::connection_made(platform::Milliseconds took) { learn(handshake_, took); }

void ConnectionPools::answered(delivery::WebhookId webhook, platform::Milliseconds took,
                               platform::MonotonicTime now) {
  const auto pool = pools_.find(webhook);
  if (pool == pools_.end()) return;
  learn(pool->second.answer, took);
  pool->second.progress = now;
}

bool ConnectionPools::stalled(const Pool& pool, platform::MonotonicTime now) {
  return now - pool.progress >= stalled_after;
}

std::vector<Request> ConnectionPools::drop(delivery::WebhookId webhook) {
  const auto pool = pools_.find(webhook);
  return pool == pools_.end() ? std::vector<Request>() : drop(pool);
}

std::vector<Request> ConnectionPools::drop_all() {
  std::vector<Request> result;
  while (!overdue_.empty()) {
    auto dropped = drop(pools_.find(overdue_.begin()->second));
    result.insert(result.end(), std::make_move_iterator(dropped.begin()),
                  std::make_move_iterator(dropped.end()));
  }
  return result;
}

std::optional<platform::MonotonicTime> ConnectionPools::next_overdue() const {
  return overdue_.empty() ? std::nullopt : std::optional(overdue_.begin()->first);
}

/// An answer takes as long as the last few did, or as long as none has come: when does the backlog justify
/// another connection?
void ConnectionPools::wait_from(PoolMap::iterator found, platform::MonotonicTime now) {
  Pool& pool = found->second;
  const auto handshake = std::clamp<Average>(handshake_, least_handshake, most_handshake);
  const auto slow =
      handshake * handshakes_worth * std::max(pool.active, 1U) / static_cast<double>(pool.waiting.size());
  pool.overdue = pool.answer >= slow ? now : pool.progress + std::chrono::ceil<platform::Milliseconds>(slow);
  pool.overdue = std::max(pool.overdue, pool.opened + between_connections);
  overdue_.emplace(pool.overdue, found->first);
}

void ConnectionPools::stop_waiting(PoolMap::iterator pool) {
  overdue_.erase({pool->second.overdue, pool->first});
}

Request ConnectionPools::start_next(PoolMap::iterator found, platform::MonotonicTime now) {
  Pool& pool = found->second;
  Request request = std::move(pool.waiting.front());
  pool.waiting.pop_front();
  ++pool.active;
  if (pool.idle > 0) --pool.idle;
  stop_waiting(found);
  if (!pool.waiting.empty()) wait_from(found, now);
  return request;
}

/// One connection is what a pool begins with: nothing to remember.
void ConnectionPools::forget_if_done(PoolMap::iterator pool) {
  if (pool->second.active == 0 && pool->second.waiting.empty() && pool->second.idle <= 1) pools_.erase(pool);
}

std::vector<Request> ConnectionPools::drop(PoolMap::iterator pool) {
  stop_waiting(pool);
  auto& waiting = pool->second.waiting;
  std::vector<Request> result(std::make_move_iterator(waiting.begin()),
                              std::make_move_iterator(waiting.end()));
  waiting.clear();
  requests_ -= result.size();
  forget_if_done(pool);
  return result;
}

}  // namespace dispatcher
