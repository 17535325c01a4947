#include "dispatcher/intake/fan_out_writer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dispatcher/intake/paused_rest.hpp"
#include "lib/store/session/isolate.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr auto longest_isolation = 50ms;  // of a batch; after that its entities are taken one at a time

std::vector<delivery::EntityId> entities_of(const std::vector<JudgedNotification>& notifications) {
  std::set<delivery::EntityId> entities;
  for (const auto& notification : notifications) entities.insert(notification.entity);
  return {entities.begin(), entities.end()};
}

/// Leaves out entities that an earlier part of the batch found busy or locked: a notification must not
/// overtake an older one of its entity.
std::vector<JudgedNotification> without_waiting(const std::vector<JudgedNotification>& part,
                                                const std::set<delivery::EntityId>& busy,
                                                const std::set<delivery::EntityId>& locked) {
  if (busy.empty() && locked.empty()) return part;
  std::vector<JudgedNotification> result;
  std::ranges::copy_if(part, std::back_inserter(result), [&](const auto& notification) {
    return !busy.contains(notification.entity) && !locked.contains(notification.entity);
  });
  return result;
}

/// A lock time-out is isolated, too: only the write meets a lock on an index entry or a gap.
bool concerns_one(const store::DatabaseError& error) {
  return store::is_refused(error) || store::is_lock_timeout(error);
}

}  // namespace

/// Keeps what a transaction read, planned and created, for use after its COMMIT.
struct FanOutWriter::Written {
  std::set<delivery::NotificationId> held;
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  std::optional<Grants> grants;
  std::vector<store::CreatedDelivery> created;
  store::Lease lease;
};

void FanOutWriter::write(FanOutBatch& batch, Ahead ahead, LeasedBatch& into) {
  into.leased_at = monotonic_now();
  std::optional<platform::MonotonicTime> isolate_until;
  store::isolate(
      batch.judged,
      [&](const std::vector<JudgedNotification>& part) {
        if (isolate_until && monotonic_now() > *isolate_until) {
          for (const auto& notification : part) batch.put_off.insert(notification.entity);
          return;
        }
        try {
          write_part(without_waiting(part, batch.busy, batch.locked), batch, ahead, into);
        } catch (const store::DatabaseError&) {
          if (!isolate_until) isolate_until = monotonic_now() + longest_isolation;
          throw;
        }
      },
      [&](const auto& notification, const auto& error) { blame(notification, error, batch); }, concerns_one);
  for (const auto& notification : batch.judged) {
    if (batch.stopped.contains(notification.entity) && !batch.passed.contains(notification.id))
      locked_.found({notification.id, notification.entity}, monotonic_now());
  }
  into.worked = into.worked || !batch.passed.empty();
}

void FanOutWriter::blame(const JudgedNotification& notification, const store::DatabaseError& error,
                         FanOutBatch& batch) {
  const auto* refused = dynamic_cast<const store::Refused*>(&error);
  // A duplicate key: the notification was fanned out past its lock after this batch had read it.
  if (refused == nullptr || dynamic_cast<const store::DuplicateKey*>(refused) != nullptr) {
    batch.locked.insert(notification.entity);
    batch.stopped.insert(notification.entity);
    return;
  }
  batch.passed.insert(notification.id);
  batch.refused.insert(notification.entity);
  batch.put_off.insert(notification.entity);
  scanner_.entities().note_refused(notification.entity);
  quarantine_.blamed(session_, notification.entity, notification.id, *refused);
}

/// Runs one transaction: `lock` returns which of `part` to fan out, `write` writes the plan.
template <class Lock, class Write>
FanOutWriter::Written FanOutWriter::write(const std::vector<JudgedNotification>& part, Ahead ahead,
                                          Lock&& lock, Write&& write) {
  Written written;
  written.lease = leases_.next();
  written.created = store::transaction(session_, [&] {
    written.held = lock(ids_of(part));
    written.recipients = store::load_recipients(session_, entities_of(part));
    rest_paused(scanner_.paused_parts(), written.recipients);
    written.grants.emplace(slots_);
    written.plan = plan_fan_out(part, written.held, written.recipients, *written.grants, ahead);
    return write(session_, written.plan.fan_out, written.lease);
  });
  return written;
}

void FanOutWriter::write_part(const std::vector<JudgedNotification>& part, FanOutBatch& batch, Ahead ahead,
                              LeasedBatch& into) {
  if (part.empty()) return;
  auto written = write(
      part, ahead, [this](const auto& ids) { return store::lock_pending(session_, ids); },
      store::write_fan_out);
  append(part, written, into);
  for (const auto& notification : part) {
    if (written.held.contains(notification.id)) continue;
    batch.passed.insert(notification.id);
    locked_.found({notification.id, notification.entity}, monotonic_now());
  }
  auto& [fan_out, busy, locked, full] = written.plan;
  for (const auto id : fan_out.processed) batch.passed.insert(id);
  for (const auto& rejected : fan_out.rejected) batch.passed.insert(rejected.id);
  batch.busy.merge(busy);
  batch.locked.merge(locked);
  report(fan_out);
  quarantine_.passed(fan_out);
}

void FanOutWriter::write_past_locks(const std::vector<JudgedNotification>& notifications, LeasedBatch& into) {
  into.leased_at = monotonic_now();
  const auto isolate_until = into.leased_at + longest_isolation;
  const auto again = [&](const JudgedNotification& notification) {
    locked_.found({notification.id, notification.entity}, monotonic_now());
  };
  store::isolate(
      notifications,
      [&](const std::vector<JudgedNotification>& part) {
        if (monotonic_now() > isolate_until) return void(std::ranges::for_each(part, again));
        write_part_past_locks(part, into);
      },
      [&](const JudgedNotification& notification, const store::DatabaseError& error) {
        if (store::is_lock_timeout(error)) return again(notification);
        log_.info("a locked notification waits for its lock",
                  {{"notification", notification.id}, {"error", error.what()}});
      },
      concerns_one);
}

void FanOutWriter::write_part_past_locks(const std::vector<JudgedNotification>& part, LeasedBatch& into) {
  auto written = write(
      part, Ahead::yes,
      [](const auto& ids) { return std::set<delivery::NotificationId>(ids.begin(), ids.end()); },
      store::write_fan_out_past_locks);
  append(part, written, into);
  for (const auto& delivery : written.plan.fan_out.deliveries)
    locked_.fanned_out(delivery.notification, into.leased_at);
  metrics_.processed.add(written.plan.fan_out.processed.size());
  into.worked = true;
}

/// Passes the slots taken and the leased deliveries to `into`, and webhooks with pending deliveries to the
/// ready set.
void FanOutWriter::append(const std::vector<JudgedNotification>& part, Written& written, LeasedBatch& into) {
  into.grants.add(std::move(*written.grants));
  const auto now = monotonic_now();  // the webhooks' rows were locked until now
  for (const auto& [entity, recipient] : written.recipients) {
    for (const auto& subscriber : recipient.webhooks) into.add_destination(subscriber.target, now);
  }
  for (const auto& delivery : written.plan.fan_out.deliveries) {
    if (delivery.state == delivery::DeliveryState::pending)
      scanner_.webhooks().waits(delivery.webhook, into.leased_at);
  }
  std::map<delivery::NotificationId, const JudgedNotification*> by_id;
  for (const auto& notification : part) by_id.emplace(notification.id, &notification);
  for (const auto& delivery : written.created) {
    const auto& notification = *by_id.at(delivery.notification);
    into.deliveries.push_back({.id = delivery.id,
                               .webhook = delivery.webhook,
                               .notification = notification.id,
                               .entity = notification.entity,
                               .lease = written.lease.token,
                               .event = *notification.event,
                               .occurred = *notification.occurred,
                               .created = delivery.created,
                               .data = notification.data});
  }
}

void FanOutWriter::report(const store::FanOut& fan_out) const {
  for (const auto& [id, reason] : fan_out.rejected)
    log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  metrics_.processed.add(fan_out.processed.size());
  metrics_.rejected.add(fan_out.rejected.size());
}

}  // namespace dispatcher
