#include "dispatcher/fan_out/fan_out_writer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dispatcher/scan/paused_rest.hpp"
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

/// The outcomes so far of a batch. If the database refuses the whole batch, it is written in parts.
class Parts {
 public:
  void add(const JudgedNotification& notification, Outcome outcome) {
    outcomes_.emplace(notification.id, outcome);
    using enum Outcome;
    if (outcome == busy || outcome == no_slot || outcome == recipient_locked || outcome == write_locked)
      waiting_.emplace(notification.entity, outcome);
  }

  /// Returns the notifications of `part`, except those of an entity that already has a waiting notification
  /// in this batch, which they would overtake. They get the outcome of that notification.
  std::vector<JudgedNotification> without_waiting(const std::vector<JudgedNotification>& part) {
    std::vector<JudgedNotification> rest;
    for (const auto& notification : part) {
      const auto found = waiting_.find(notification.entity);
      if (found == waiting_.end())
        rest.push_back(notification);
      else
        outcomes_.emplace(notification.id, found->second);
    }
    return rest;
  }

  Outcomes take() { return std::move(outcomes_); }

 private:
  Outcomes outcomes_;
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
struct FanOutWriter::Written {
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  std::optional<Grants> grants;
  std::vector<store::CreatedDelivery> created;
  store::Lease lease;
};

Outcomes FanOutWriter::write(const std::vector<JudgedNotification>& notifications, Ahead ahead,
                             LeasedBatch& into) {
  into.leased_at = monotonic_now();
  Parts parts;
  std::optional<platform::MonotonicTime> isolate_until;
  auto locked_by = store::LockedBy::row;
  store::isolate(
      notifications,
      [&](const std::vector<JudgedNotification>& part) {
        if (isolate_until && monotonic_now() > *isolate_until) {
          for (const auto& notification : part) parts.add(notification, Outcome::put_off);
          return;
        }
        try {
          const auto rest = parts.without_waiting(part);
          const auto outcomes = write_part(rest, ahead, locked_by, into);
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
  return parts.take();
}

Outcome FanOutWriter::blame(const JudgedNotification& notification, const store::DatabaseError& error) {
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
  rejections_.blamed(session_, notification.entity, notification.id,
                     dynamic_cast<const store::Refused&>(error));
  return Outcome::refused;
}

Outcomes FanOutWriter::write_part(const std::vector<JudgedNotification>& part, Ahead ahead,
                                  store::LockedBy locked_by, LeasedBatch& into) {
  if (part.empty()) return {};
  Written written;
  written.lease = leases_.next();
  written.created = store::transaction(session_, [&] {
    const auto held = store::lock_pending(session_, ids_of(part), locked_by);
    written.recipients = store::load_recipients(session_, entities_of(part));
    rest_paused(scanner_.paused_parts(), written.recipients);
    written.grants.emplace(slots_);
    written.plan = plan_fan_out(part, held, written.recipients, *written.grants, ahead);
    return store::write_fan_out(session_, written.plan.fan_out, written.lease);
  });
  append(part, written, into);
  metrics_.processed.add(written.plan.fan_out.processed.size());
  rejections_.passed(written.plan.fan_out);
  rejections_.reject(session_, written.plan.fan_out.rejected, written.plan.outcomes);
  return std::move(written.plan.outcomes);
}

/// Passes the slots taken and the leased deliveries to `into`, and webhooks with pending deliveries to the
/// ready set.
void FanOutWriter::append(const std::vector<JudgedNotification>& part, Written& written, LeasedBatch& into) {
  into.grants.add(std::move(*written.grants));
  // The webhooks' rows were locked until now, so the targets are valid as of now.
  const auto now = monotonic_now();
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

}  // namespace dispatcher
