// Rejects the notifications that the database refuses to fan out because of their content. Quarantines them
// if it refuses even to mark their rows `rechazada` (docs/delivery.md#bad-rows). So no notification is tried
// forever.
#pragma once

#include "dispatcher/fan_out/refusals.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class Quarantine {
 public:
  /// `metrics` outlives this object.
  Quarantine(const platform::Log& log, const Metrics& metrics) : log_(log), metrics_(metrics) {}

  /// To be called when the database has refused the notification in a transaction with no other notification.
  /// Rejects or quarantines it if class Refusals (refusals.hpp) decides so. Throws errors of the session or
  /// the server.
  void blamed(store::Session& session, delivery::EntityId entity, delivery::NotificationId id,
              const store::Refused& error);
  /// A fan-out was committed: Refusals learns which notifications the database accepts.
  void passed(const store::FanOut& fan_out);

 private:
  platform::Log log_;
  const Metrics& metrics_;
  Refusals refusals_;
};

}  // namespace dispatcher
