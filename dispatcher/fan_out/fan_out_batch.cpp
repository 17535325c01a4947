#include "dispatcher/fan_out/fan_out_batch.hpp"

#include <utility>

namespace dispatcher {

namespace {

/// Adds the outcomes of the rows that `held` lacks: another session has locked, finished or not committed
/// them.
void add_missing(store::Session& session, const std::vector<store::NotificationKey>& rows,
                 const std::vector<store::PendingNotification>& held, Outcomes& outcomes) {
  if (held.size() == rows.size()) return;
  std::set<delivery::NotificationId> missing;
  for (const auto& row : rows) missing.insert(row.id);
  for (const auto& one : held) missing.erase(one.id);
  const auto pending = store::find_pending(session, {missing.begin(), missing.end()});
  for (const auto id : missing)
    outcomes.emplace(id, pending.contains(id) ? Outcome::row_locked : Outcome::not_pending);
}

}  // namespace

FanOutBatch lock_batch(store::Session& session, const std::vector<store::NotificationKey>& rows,
                       store::LockedBy locked_by) {
  FanOutBatch batch;
  auto pending = store::lock_pending(session, ids_of(rows), locked_by);
  add_missing(session, rows, pending, batch.left_out);
  for (const auto& one : store::leave_to_newer(session, pending))
    batch.left_out.emplace(one.id, Outcome::for_newer);
  for (const auto& one : pending) {
    if (!one.data) batch.with_large.insert(one.entity);
  }
  for (const auto& one : cut_batch(pending)) batch.left_out.emplace(one.id, Outcome::no_room);
  store::read_data(session, pending);
  for (auto& one : pending) batch.judged.push_back(judge(std::move(one)));
  return batch;
}

}  // namespace dispatcher
