// Rejects the notifications that the database refuses to fan out because of their content
// (docs/delivery.md#bad-rows). Those of which it refuses even the rejection stay pending, and are named.
#pragma once

#include "dispatcher/fan_out/fan_out_outcome.hpp"
#include "dispatcher/fan_out/passed_over.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/observation/once_per_minute.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/session.hpp"

namespace dispatcher {

class Rejections {
 public:
  /// `passed_over` and `metrics` outlive this object.
  Rejections(PassedOver& passed_over, const platform::Log& log, const Metrics& metrics)
      : passed_over_(passed_over), log_(log), metrics_(metrics) {}

  /// Rejects notifications that are wrong. Sets the outcome of each that cannot be rejected now:
  /// `row_locked`, `refused` or `untried`. Throws errors of the session or the server.
  void reject(store::Session& session, const std::vector<store::RejectedNotification>& rejected,
              Outcomes& outcomes);
  /// To be called when the database has refused the notification in a transaction with no other notification.
  /// Rejects it if PassedOver decides so. Throws errors of the session or the server.
  void blamed(store::Session& session, const store::NotificationKey& notification,
              const store::Refused& error);
  /// A fan-out was committed.
  void accepted(const store::FanOutRows& fan_out) {
    if (!fan_out.deliveries.empty()) passed_over_.accepted();
  }
  /// To be called at least once a minute: logs how many were rejected, and could not be, since the last
  /// line. `stopping`: logs the rest.
  void report(bool stopping);

 private:
  void count(std::uint64_t count, const store::RejectedNotification& one);
  void count_refused(delivery::NotificationId id, const store::Refused& error);

  PassedOver& passed_over_;
  platform::Log log_;
  const Metrics& metrics_;
  OncePerMinute rejected_;
  store::RejectedNotification example_{};  // one of these
  OncePerMinute not_rejected_;
  store::RejectedNotification refused_{};  // one of these, with what the database said
};

}  // namespace dispatcher
