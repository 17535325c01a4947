#include "http/connection_pools.hpp"

#include <algorithm>

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr platform::Milliseconds long_wait{
    100};  // what a slot carries: docs/delivery.md#how-slots-are-shared
constexpr platform::Milliseconds between_connections{20};  // of one pool
constexpr platform::Milliseconds longest_wait{1000};       // for a connection
constexpr platform::Milliseconds between_looks{200};       // at what cannot start

}  // namespace

std::optional<Request> ConnectionPools::add(Request request, platform::MonotonicTime now) {
  const auto found = pools_.try_emplace(request.host).first;
  Pool& pool = found->second;
  auto& lane = pool.lanes[request.delivery.webhook];
  lane.slots = std::max(request.slots, 1U);
  lane.waiting.push_back({std::move(request), now});
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
  const auto lane = pool.lanes.find(webhook);
  if (lane != pool.lanes.end() && lane->second.active > 0) {
    --lane->second.active;
    --pool.active;
    if (lane->second.active == 0 && lane->second.waiting.empty()) pool.lanes.erase(lane);
  }
  if (kept) ++pool.idle;
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
  const auto lane = found->second.lanes.find(webhook);
  if (lane != found->second.lanes.end()) drop(found->second, lane->second, result);
  forget_lanes(found->second);
  return result;
}

std::vector<Request> ConnectionPools::drop_all() {
  std::vector<Request> result;
  for (auto& [host, pool] : pools_) {
    for (auto& [webhook, lane] : pool.lanes) drop(pool, lane, result);
    forget_lanes(pool);
  }
  return result;
}

std::optional<platform::MonotonicTime> ConnectionPools::next_overdue() const {
  return overdue_.empty() ? std::nullopt : std::optional(overdue_.begin()->first);
}

/// Webhooks take turns.
ConnectionPools::Lanes::iterator ConnectionPools::next_lane(Pool& pool) const {
  const auto end = pool.lanes.end();
  if (pool.waiting == 0 || pool.active >= per_host_) return end;
  const auto may_start = [](const auto& lane) { return lane.second.may_start(); };
  const auto first = pool.lanes.upper_bound(pool.turn);
  if (const auto found = std::find_if(first, end, may_start); found != end) return found;
  const auto found = std::find_if(pool.lanes.begin(), first, may_start);
  return found == first ? end : found;
}

std::optional<Request> ConnectionPools::start_next(Pools::iterator found) {
  Pool& pool = found->second;
  const auto lane = next_lane(pool);
  if (lane == pool.lanes.end()) return std::nullopt;
  Request request = std::move(lane->second.waiting.front().request);
  lane->second.waiting.pop_front();
  ++lane->second.active;
  --pool.waiting;
  ++pool.active;
  if (pool.idle > 0) --pool.idle;
  pool.turn = lane->first;
  return request;
}

/// None: not now, or not at all.
std::optional<ConnectionPools::Need> ConnectionPools::needs_another(Pool& pool,
                                                                    platform::MonotonicTime now) const {
  const auto lane = next_lane(pool);
  if (lane == pool.lanes.end()) return std::nullopt;
  const auto waited = [now](const Lane& one) { return now - one.waiting.front().since >= long_wait; };
  const auto without = std::ranges::find_if(pool.lanes, [&](const auto& one) {
    return one.second.active == 0 && one.second.may_start() && waited(one.second);
  });
  if (without != pool.lanes.end()) {
    pool.turn = without->first - 1;  // it is the next
    return Need::none_yet;
  }
  if (waited(lane->second)) return Need::waited;
  const auto expected = pool.answer * static_cast<double>(pool.waiting) / std::max(pool.active, 1U);
  return expected > long_wait ? std::optional(Need::expected) : std::nullopt;
}

/// The next time at which another connection may be needed, or something has waited for too long.
void ConnectionPools::schedule(Pools::iterator found, platform::MonotonicTime now) {
  Pool& pool = found->second;
  if (pool.waiting == 0) return unschedule(found);
  if (pool.overdue) return;
  const auto lane = next_lane(pool);
  auto at = now + between_looks;
  if (lane != pool.lanes.end())
    at = needs_another(pool, now) ? now : lane->second.waiting.front().since + long_wait;
  pool.overdue = std::max(at, pool.opened + between_connections);
  overdue_.emplace(*pool.overdue, found->first);
}

void ConnectionPools::unschedule(Pools::iterator pool) {
  if (pool->second.overdue) overdue_.erase({*pool->second.overdue, pool->first});
  pool->second.overdue.reset();
}

void ConnectionPools::hand_back(Pool& pool, platform::MonotonicTime now, std::vector<Request>& into) {
  for (auto& [webhook, lane] : pool.lanes) {
    if (!lane.waiting.empty() && now - lane.waiting.front().since >= longest_wait) drop(pool, lane, into);
  }
  forget_lanes(pool);
}

void ConnectionPools::drop(Pool& pool, Lane& lane, std::vector<Request>& into) {
  for (auto& waiting : lane.waiting) into.push_back(std::move(waiting.request));
  pool.waiting -= lane.waiting.size();
  lane.waiting.clear();
}

void ConnectionPools::forget_lanes(Pool& pool) {
  std::erase_if(pool.lanes,
                [](const auto& lane) { return lane.second.active == 0 && lane.second.waiting.empty(); });
}

/// One connection is what a pool begins with: nothing to remember.
void ConnectionPools::forget_if_done(Pools::iterator pool) {
  if (pool->second.active > 0 || pool->second.waiting > 0) return;
  unschedule(pool);
  if (pool->second.idle <= 1) pools_.erase(pool);
}

}  // namespace dispatcher
