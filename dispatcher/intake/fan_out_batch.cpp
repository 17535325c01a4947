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

FanOutBatch FanOutReader::read(const std::vector<store::NotificationKey>& line, ReadyEntities::Pick pick,
                               std::vector<store::TakeRequest> requests, First first_half) {
  FanOutBatch batch;
  batch.pick = pick;
  const auto in_turns = store::find_oldest_pending(session_, requests);
  batch.requests = std::move(requests);
  // If the slots are not enough for all, the two kinds alternate in coming first.
  batch.rows = first_half == First::turns ? in_turns : line;
  std::ranges::copy(first_half == First::turns ? line : in_turns, std::back_inserter(batch.rows));
  auto pending = store::read_pending(session_, ids_of(batch.rows));
  // The others have ceased to be pending, so they need not be waited for.
  for (const auto& row : batch.rows) batch.passed.insert(row.id);
  for (const auto& notification : pending) batch.passed.erase(notification.id);
  const auto leave = [&](const std::vector<store::PendingNotification>& notifications) {
    for (const auto& notification : notifications) {
      batch.passed.insert(notification.id);
      batch.with_left.insert(notification.entity);
      if (notification.fanned_out) locked_.fanned_out(notification.id, monotonic_now());
    }
  };
  leave(store::leave_quarantined(pending));
  const auto left = store::leave_to_newer(session_, pending);
  leave(left);
  newer_.left("notifications", left.size());
  for (const auto& notification : pending) {
    if (!notification.data) batch.with_large.insert(notification.entity);
  }
  for (const auto& notification : cut_batch(pending)) batch.without_room.insert(notification.entity);
  store::read_data(session_, pending);
  for (auto& notification : pending) batch.judged.push_back(judge(std::move(notification)));
  return batch;
}

}  // namespace dispatcher
