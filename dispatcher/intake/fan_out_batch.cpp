#include "dispatcher/intake/fan_out_batch.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "dispatcher/schedule/waits.hpp"

namespace dispatcher {

using platform::monotonic_now;

void FanOutBatch::note(ReadyEntities& entities) const {
  struct Way {
    delivery::NotificationId last = 0;
    unsigned found = 0;
    bool stopped = false;
  };
  std::map<delivery::EntityId, Way> ways;
  for (const auto& row : rows) {
    auto& way = ways[row.entity];
    ++way.found;
    way.stopped = way.stopped || !passed.contains(row.id);
    if (!way.stopped) way.last = row.id;
  }
  for (const auto& [entity, way] : ways) {
    if (!refused.contains(entity)) entities.note_left(entity, with_left.contains(entity));
    if (way.last > 0) entities.advance(entity, way.last);
  }
  std::optional<delivery::EntityId> first_left;
  for (const auto& request : requests) {
    const auto& way = ways[request.entity];
    if (!way.stopped && way.found < request.limit) entities.finished(request.entity);
    const bool waits = busy.contains(request.entity) || locked.contains(request.entity);
    if (way.stopped && !waits && !first_left) first_left = request.entity;
  }
  if (first_left) entities.resume_at(pick, *first_left);
  for (const auto& [entity, way] : ways) {
    if (without_room.contains(entity) || !with_large.contains(entity))
      entities.note_large(entity, without_room.contains(entity));
  }
  for (const auto entity : busy) entities.mark_busy(entity);
  for (const auto entity : put_off) entities.suspect(entity);
  for (const auto entity : locked) entities.postpone(entity, monotonic_now() + locked_wait);
}

FanOutBatch FanOutReader::read(const std::vector<store::NewNotification>& line, ReadyEntities::Pick pick,
                               std::vector<store::TakeRequest> requests, First first_half) {
  FanOutBatch batch;
  batch.pick = pick;
  auto in_line = store::read_pending(session_, ids_of(line));
  auto in_turns = store::find_oldest_pending(session_, requests);
  batch.requests = std::move(requests);
  // Those in line count as passed, except those that are still pending.
  for (const auto& [id, entity] : line) {
    batch.rows.push_back({id, entity});
    batch.passed.insert(id);
  }
  for (const auto& notification : in_line) batch.passed.erase(notification.id);
  for (const auto& notification : in_turns) batch.rows.push_back({notification.id, notification.entity});
  // If the slots are not enough for all, the two kinds alternate in coming first.
  auto& first = first_half == First::turns ? in_turns : in_line;
  auto& second = first_half == First::turns ? in_line : in_turns;
  std::ranges::move(second, std::back_inserter(first));
  const auto leave = [&](const std::vector<store::PendingNotification>& notifications) {
    for (const auto& notification : notifications) {
      batch.passed.insert(notification.id);
      batch.with_left.insert(notification.entity);
      if (notification.fanned_out) locked_.fanned_out(notification.id, monotonic_now());
    }
  };
  leave(store::leave_quarantined(first));
  const auto left = store::leave_to_newer(session_, first);
  leave(left);
  newer_.left("notifications", left.size());
  for (const auto& notification : first) {
    if (!notification.data) batch.with_large.insert(notification.entity);
  }
  for (const auto& notification : cut_batch(first)) batch.without_room.insert(notification.entity);
  store::read_data(session_, first);
  for (auto& notification : first) batch.judged.push_back(judge(std::move(notification)));
  return batch;
}

}  // namespace dispatcher
