#include "dispatcher/fan_out/fan_out_batch.hpp"

#include <utility>

namespace dispatcher {

FanOutBatch read_batch(store::Session& session, const std::vector<store::NotificationKey>& rows,
                       NewerRows& newer) {
  FanOutBatch batch;
  auto pending = store::read_pending(session, ids_of(rows));
  const auto unknown = store::leave_to_newer(session, pending);
  for (const auto& one : unknown) batch.left_out.emplace(one.id, Outcome::left);
  newer.left("notifications", unknown.size());
  for (const auto& one : pending) {
    if (!one.data) batch.with_large.insert(one.entity);
  }
  for (const auto& one : cut_batch(pending)) batch.left_out.emplace(one.id, Outcome::no_room);
  store::read_data(session, pending);
  std::set<delivery::NotificationId> judged;
  for (auto& one : pending) {
    judged.insert(one.id);
    batch.judged.push_back(judge(std::move(one)));
  }
  for (const auto& row : rows) {
    if (!judged.contains(row.id)) batch.left_out.emplace(row.id, Outcome::not_pending);
  }
  return batch;
}

}  // namespace dispatcher
