#include "dispatcher/fan_out/quarantine.hpp"

#include "lib/store/notifications/quarantine.hpp"

namespace dispatcher {

void Quarantine::blamed(store::Session& session, delivery::EntityId entity, delivery::NotificationId id,
                        const store::Refused& error) {
  if (!refusals_.knows(id))
    log_.error("the database refuses to fan out a notification of an entity; the others go on",
               {{"duty", "fan-out"}, {"entity", entity}, {"notification", id}, {"error", error.what()}});
  if (!refusals_.refused(id, platform::monotonic_now())) return;
  const auto reason = store::refusal_text(error);
  switch (store::reject_or_quarantine(session, id, reason)) {
    case store::Rejection::rejected:
      log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
      break;
    case store::Rejection::quarantined:
      log_.warning("notification quarantined: the database refuses to change its row",
                   {{"notification", id}, {"reason", reason}});
      break;
    case store::Rejection::no:
      return;
  }
  metrics_.rejected.add(1);
}

/// Tells Refusals only of notifications with deliveries. The fan-out of any other notification does not write
/// every kind of row, so it does not show that the database accepts every kind.
void Quarantine::passed(const store::FanOut& fan_out) {
  delivery::NotificationId last = 0;
  for (const auto& delivery : fan_out.deliveries) {
    if (delivery.notification != last) refusals_.passed(delivery.notification);
    last = delivery.notification;
  }
}

}  // namespace dispatcher
