#include "schedule/ready_set.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedule/id_ranges.hpp"

namespace dispatcher {

namespace {

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr platform::Milliseconds first_failure_wait{5000};
constexpr unsigned most_doublings = 4;

/// Visits `map` in a turn that begins after `cursor` and goes round once, until `visit` returns false.
template <class Map, class F>
void go_round(Map& map, std::int64_t cursor, F&& visit) {
  const auto first = map.upper_bound(cursor);
  for (auto i = first; i != map.end(); ++i)
    if (!visit(*i)) return;
  for (auto i = map.begin(); i != first; ++i)
    if (!visit(*i)) return;
}

/// How many ids it has beside its first one.
std::uint64_t width(const store::IdRange& range) {
  return static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
}

}  // namespace

void halve_widest(std::vector<store::IdRange>& ranges, std::size_t count) {
  while (!ranges.empty() && ranges.size() < count) {
    const auto widest = std::ranges::max_element(ranges, {}, width);
    if (width(*widest) == 0) return;
    const auto middle =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(widest->first) + width(*widest) / 2);
    const store::IdRange upper{middle + 1, widest->last};
    widest->last = middle;
    ranges.push_back(upper);
  }
}

void ReadyEntities::found(const store::WaitingEntity& entity) {
  auto& entry = entities_.try_emplace(entity.id, Entry{.after = entity.first - 1}).first->second;
  if (entry.left.known()) return;
  if (!std::exchange(entry.waiting, true)) entry.after = entity.first - 1;
}

void ReadyEntities::appeared(delivery::EntityId entity) {
  entities_.try_emplace(entity, Entry{.after = lowest}).first->second.waiting = true;
}

void ReadyEntities::finished(delivery::EntityId entity) {
  if (const auto found = entities_.find(entity); found != entities_.end()) {
    found->second.waiting = false;
    found->second.left.passed();
    found->second.busy = false;
    found->second.failures = 0;
  }
}

std::vector<store::TakeRequest> ReadyEntities::next(Pick pick, unsigned entities, unsigned limit,
                                                    platform::MonotonicTime now) {
  std::vector<store::TakeRequest> result;
  auto& cursor = pick == Pick::busy ? busy_cursor_ : ready_cursor_;
  go_round(entities_, cursor, [&](const auto& item) {
    const auto& [id, entry] = item;
    if (result.size() == entities) return false;
    if (!entry.waiting || entry.busy != (pick == Pick::busy) || now < entry.not_before) return true;
    result.push_back({id, entry.after, limit});
    return true;
  });
  if (!result.empty()) cursor = result.back().entity;
  return result;
}

void ReadyEntities::advance(delivery::EntityId entity, delivery::NotificationId last) {
  const auto found = entities_.find(entity);
  if (found == entities_.end()) return;
  found->second.after = last;
  found->second.failures = 0;
}

void ReadyEntities::mark_busy(delivery::EntityId entity) {
  if (const auto found = entities_.find(entity); found != entities_.end()) found->second.busy = true;
}

void ReadyEntities::clear_busy(delivery::EntityId entity) {
  if (const auto found = entities_.find(entity); found != entities_.end()) found->second.busy = false;
}

void ReadyEntities::failed(delivery::EntityId entity, platform::MonotonicTime now) {
  const auto found = entities_.find(entity);
  if (found == entities_.end()) return;
  auto& entry = found->second;
  entry.not_before = now + first_failure_wait * (1U << std::min(entry.failures, most_doublings));
  ++entry.failures;
}

void ReadyEntities::postpone(delivery::EntityId entity, platform::MonotonicTime until) {
  if (const auto found = entities_.find(entity); found != entities_.end()) found->second.not_before = until;
}

void ReadyEntities::left_some(delivery::EntityId entity) {
  if (const auto found = entities_.find(entity); found != entities_.end()) found->second.left.met();
}

void ReadyEntities::look_again() {
  for (auto& [id, entry] : entities_)
    if (entry.left.look_again()) entry.after = lowest;
}

std::vector<store::IdRange> ReadyEntities::ranges() const {
  return ranges_between(entities_, [](const Entry& entry) { return entry.waiting || entry.left.known(); });
}

}  // namespace dispatcher
