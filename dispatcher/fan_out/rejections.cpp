#include "dispatcher/fan_out/rejections.hpp"

#include <utility>

#include "lib/store/notifications/rejection.hpp"

namespace dispatcher {

void Rejections::blamed(store::Session& session, delivery::EntityId entity, delivery::NotificationId id,
                        const store::Refused& error) {
  if (!refusals_.knows(id))
    log_.error("the database refuses to fan out a notification of an entity; the others go on",
               {{"duty", "fan-out"}, {"entity", entity}, {"notification", id}, {"error", error.what()}});
  if (!refusals_.refused(id, platform::monotonic_now())) return;
  const auto reason = store::refusal_text(error);
  try {
    if (!store::reject_if_free(session, id, reason)) return;
  } catch (const store::Refused& again) {
    return report(id, again);
  }
  log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  metrics_.rejected.add(1);
}

void Rejections::report(delivery::NotificationId id, const store::Refused& error) {
  ++not_rejected_;
  const auto now = platform::monotonic_now();
  if (now < next_report_) return;
  log_.error("the database refuses even to reject notifications; they are tried again",
             {{"times", std::exchange(not_rejected_, 0)}, {"notification", id}, {"error", error.what()}});
  next_report_ = now + std::chrono::minutes(1);
}

/// Tells Refusals only of notifications with deliveries. The fan-out of any other notification does not write
/// every kind of row, so it does not show that the database accepts every kind.
void Rejections::passed(const store::FanOut& fan_out) {
  delivery::NotificationId last = 0;
  for (const auto& delivery : fan_out.deliveries) {
    if (delivery.notification != last) refusals_.passed(delivery.notification);
    last = delivery.notification;
  }
}

}  // namespace dispatcher
