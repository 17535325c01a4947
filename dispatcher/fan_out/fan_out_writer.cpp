#include "dispatcher/fan_out/fan_out_writer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dispatcher/schedule/paused_rest.hpp"
#include "lib/store/session/isolate.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using namespace std::chrono_literals;

/// How long a batch is split to find the notifications that the database refuses. The notifications not tried
/// by then are left for a later batch.
constexpr auto longest_isolation = 50ms;

std::vector<delivery::EntityId> entities_of(const std::vector<JudgedNotification>& notifications) {
  std::set<delivery::EntityId> entities;
  for (const auto& notification : notifications) entities.insert(notification.entity);
  return {entities.begin(), entities.end()};
}

using Rows = std::vector<store::NotificationKey>;

/// The outcomes so far of a batch. If the database refuses the whole batch, it is written in parts.
class Parts {
 public:
  explicit Parts(Outcomes& outcomes) : outcomes_(outcomes) {}

  void add(const store::NotificationKey& notification, Outcome outcome) {
    outcomes_.emplace(notification.id, outcome);
    if (waits(outcome)) waiting_.emplace(notification.entity, outcome);
  }

  /// Returns the notifications of `part`, except those of an entity that already has a waiting notification
  /// in this batch, which they would overtake. They get the outcome of that notification.
  Rows not_behind_waiting(const Rows& part) {
    Rows rest;
    for (const auto& notification : part) {
      const auto found = waiting_.find(notification.entity);
      if (found == waiting_.end())
        rest.push_back(notification);
      else
        outcomes_.emplace(notification.id, found->second);
    }
    return rest;
  }

 private:
  Outcomes& outcomes_;
  std::map<delivery::EntityId, Outcome> waiting_;
};

/// Whether a single notification of the batch may have caused the error. One may also cause a lock time-out:
/// SKIP LOCKED leaves out locked rows, but does not show a lock on an index entry or a gap, which the write
/// then meets.
bool concerns_one(const store::DatabaseError& error) {
  return store::is_refused(error) || store::is_lock_timeout(error);
}

}  // namespace

/// Keeps what a transaction read, planned and created, for use after its COMMIT.
struct FanOutWriter::Part {
  FanOutBatch batch;
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  std::optional<Grants> grants;
  std::vector<store::CreatedDelivery> created;
  store::Lease lease;
};

FanOutWriter::Written FanOutWriter::write(const Rows& rows, Ahead ahead, LeasedBatch& into) {
  into.leased_at = monotonic_now();
  Written written;
  Parts parts(written.outcomes);
  std::optional<platform::MonotonicTime> isolate_until;
  auto locked_by = store::LockedBy::row;
  store::isolate(
      rows,
      [&](const Rows& part) {
        if (isolate_until && monotonic_now() > *isolate_until) {
          for (const auto& notification : part) parts.add(notification, Outcome::put_off);
          return;
        }
        try {
          const auto rest = parts.not_behind_waiting(part);
          const auto outcomes = write_part(rest, ahead, locked_by, written.with_large, into);
          for (const auto& notification : rest) parts.add(notification, outcomes.at(notification.id));
        } catch (const store::NotificationLocked&) {
          locked_by = store::LockedBy::row_and_entry;
          throw;
        } catch (const store::DatabaseError&) {
          if (!isolate_until) isolate_until = monotonic_now() + longest_isolation;
          throw;
        }
      },
      [&](const auto& notification, const auto& error) {
        parts.add(notification, blame(notification, error));
      },
      concerns_one);
  return written;
}

Outcome FanOutWriter::blame(const store::NotificationKey& notification, const store::DatabaseError& error) {
  if (dynamic_cast<const store::NotificationLocked*>(&error) != nullptr) return Outcome::row_locked;
  if (store::is_lock_timeout(error)) return Outcome::write_locked;
  try {
    // A duplicate key means that the notification's deliveries exist.
    if (dynamic_cast<const store::DuplicateKey*>(&error) != nullptr)
      return store::finish_fan_out(session_, notification.id) ? Outcome::written : Outcome::row_locked;
  } catch (const store::Refused&) {
    return Outcome::refused;
  } catch (const store::LockTimeout&) {
    return Outcome::row_locked;
  }
  rejections_.blamed(session_, notification, dynamic_cast<const store::Refused&>(error));
  return Outcome::refused;
}

Outcomes FanOutWriter::write_part(const Rows& rows, Ahead ahead, store::LockedBy locked_by,
                                  std::set<delivery::EntityId>& with_large, LeasedBatch& into) {
  if (rows.empty()) return {};
  Part part;
  part.lease = leases_.next();
  part.created = store::transaction(session_, [&] {
    part.batch = lock_batch(session_, rows, locked_by);
    with_large.insert(part.batch.with_large.begin(), part.batch.with_large.end());
    part.recipients = store::load_recipients(session_, entities_of(part.batch.judged));
    rest_paused(ready_.paused_parts, part.recipients);
    part.grants.emplace(slots_);
    part.plan = plan_fan_out(part.batch.judged, part.recipients, *part.grants, ahead);
    return store::write_fan_out(session_, part.plan.fan_out, part.lease);
  });
  append(part, into);
  metrics_.processed.add(part.plan.fan_out.processed.size() + part.plan.fan_out.unreached.size());
  rejections_.accepted(part.plan.fan_out);
  auto& outcomes = part.plan.outcomes;
  rejections_.reject(session_, part.plan.fan_out.rejected, outcomes);
  outcomes.merge(part.batch.left_out);
  return std::move(outcomes);
}

/// Passes the slots taken and the leased deliveries to `into`, and webhooks with pending deliveries to the
/// ready set.
void FanOutWriter::append(Part& part, LeasedBatch& into) {
  into.grants.add(std::move(*part.grants));
  // The webhooks' rows were locked until now, so the targets are valid as of now.
  const auto now = monotonic_now();
  for (const auto& [entity, recipient] : part.recipients) {
    for (const auto& subscriber : recipient.webhooks) into.add_target(subscriber.target, now);
  }
  for (const auto& delivery : part.plan.fan_out.deliveries) {
    if (delivery.state == delivery::DeliveryState::pending)
      ready_.webhooks.waits(delivery.webhook, into.leased_at);
    if (delivery.urgent) ready_.webhooks.returned(delivery.webhook, into.leased_at);
  }
  std::map<delivery::NotificationId, const JudgedNotification*> by_id;
  for (const auto& notification : part.batch.judged) by_id.emplace(notification.id, &notification);
  for (const auto& delivery : part.created) {
    const auto& notification = *by_id.at(delivery.notification);
    into.deliveries.push_back({.id = delivery.id,
                               .webhook = delivery.webhook,
                               .notification = notification.id,
                               .entity = notification.entity,
                               .lease = part.lease.token,
                               .event = *notification.event,
                               .occurred = *notification.occurred,
                               .created = delivery.created,
                               .data = notification.data});
  }
}

}  // namespace dispatcher
