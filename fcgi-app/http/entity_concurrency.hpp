// Limits the concurrent requests of one entity (docs/architecture.md#a-request). A place is the right of an
// entity to have one request running. Pure: no thread, no clock of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace api {

struct ConcurrencyLimits {
  unsigned running;                 // most concurrent requests of one entity; not 0
  std::size_t waiting;              // most waiting requests of one entity
  std::size_t waiting_in_all;       // most waiting requests of all entities together
  platform::Milliseconds patience;  // the longest time that a request waits
};

/// One entity gets an eighth of a process's `threads`, so that its slow requests leave threads to others. A
/// waiting request holds no thread, only a socket and a body of at most 64 KiB.
inline constexpr ConcurrencyLimits concurrency_limits(unsigned threads) {
  return {std::max(1U, threads / 8), 100, 400, std::chrono::seconds(10)};
}

/// Thread-safe; one per process. `Waiting`, the type of waiting requests, must be movable. While requests of
/// an entity wait, all its places are taken: a request that ends passes its place to the request that has
/// waited longest, so that no new request goes first.
template <class Waiting>
class EntityConcurrency {
 public:
  explicit EntityConcurrency(const ConcurrencyLimits& limits) : limits_(limits) {}

  /// Takes a place of the entity, which leave() gives back. False: no place is free.
  bool enter(delivery::EntityId entity) {
    const std::scoped_lock lock(mutex_);
    return take_place(entities_[entity]);
  }

  enum class Entered { at_once, waits, refused };
  /// Takes a place (`at_once`). If no place is free, keeps `waiting`, by moving from it, until leave() or
  /// take_expired() returns it (`waits`). If too many requests wait, leaves `waiting` as it is (`refused`).
  Entered enter_or_wait(delivery::EntityId entity, Waiting& waiting, platform::MonotonicTime now) {
    const std::scoped_lock lock(mutex_);
    auto& state = entities_[entity];
    if (take_place(state)) return Entered::at_once;
    if (state.waiting.size() >= limits_.waiting || waiting_ >= limits_.waiting_in_all)
      return Entered::refused;
    state.waiting.push_back({now + limits_.patience, std::move(waiting)});
    ++waiting_;
    return Entered::waits;
  }

  /// Gives a place back. Returns the entity's request that has waited longest, which takes over the place;
  /// nullopt: no request waits, and the place is free.
  std::optional<Waiting> leave(delivery::EntityId entity) {
    const std::scoped_lock lock(mutex_);
    const auto found = entities_.find(entity);
    auto& state = found->second;
    if (!state.waiting.empty()) return take_first(state);
    if (--state.running == 0) entities_.erase(found);
    return std::nullopt;
  }

  /// Removes and returns the requests that have waited for `patience`. They have no place.
  std::vector<Waiting> take_expired(platform::MonotonicTime now) {
    std::vector<Waiting> expired;
    if (waiting_ == 0) return expired;
    const std::scoped_lock lock(mutex_);
    for (auto& [entity, state] : entities_)
      while (!state.waiting.empty() && state.waiting.front().deadline <= now)
        expired.push_back(take_first(state));
    return expired;
  }

  std::size_t waiting() const { return waiting_; }

 private:
  struct Entry {
    platform::MonotonicTime deadline;
    Waiting what;
  };
  struct State {
    unsigned running = 0;
    std::deque<Entry> waiting{};
  };

  bool take_place(State& state) const {
    if (state.running >= limits_.running) return false;
    ++state.running;
    return true;
  }

  Waiting take_first(State& state) {
    Waiting first = std::move(state.waiting.front().what);
    state.waiting.pop_front();
    --waiting_;
    return first;
  }

  ConcurrencyLimits limits_;
  std::mutex mutex_;
  std::unordered_map<delivery::EntityId, State> entities_;  // entities with a running request
  std::atomic<std::size_t> waiting_ = 0;  // total of waiting requests; changed under the mutex
};

}  // namespace api
