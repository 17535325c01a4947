// What the database has for the network: claims of what is due, and the fan-out of notifications.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "delivery/fair_slots.hpp"
#include "intake/fan_out.hpp"
#include "intake/pacer.hpp"
#include "intake/queue_scanner.hpp"
#include "observation/metrics.hpp"
#include "platform/config.hpp"
#include "platform/log.hpp"
#include "store/deliveries/claim.hpp"
#include "store/notifications/fan_out.hpp"
#include "store/session/session.hpp"

namespace dispatcher {

/// Deliveries leased to this dispatcher, ready to be sent, and the slots taken for them.
struct LeasedBatch {
  explicit LeasedBatch(delivery::FairSlots& slots) : grants(slots) {}
  struct Destination {
    store::Target target;
    std::string host;
  };
  delivery::Grants grants;
  std::vector<delivery::LeasedDelivery> deliveries;
  std::map<delivery::WebhookId, Destination> destinations;
  platform::MonotonicTime leased_at{};  // or a little before
  bool worked = false;                  // something was done, even if there is nothing to send
};

class Intake {
 public:
  /// `metrics` outlives it.
  Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);

  // Each appends to `into`, also when it throws: what has been leased is to be sent. They throw what concerns
  // the session or the server; what the database refuses of one webhook or entity keeps that one waiting
  // alone.

  /// Takes what is due, in the order of `slots` and as far as they go.
  void claim(store::Session& session, QueueScanner& scanner, delivery::FairSlots& slots, LeasedBatch& into);

  /// Turns notifications into deliveries, entities taking turns: those that can be sent at once, as far as
  /// `slots` goes.
  void fan_out(store::Session& session, QueueScanner& scanner, delivery::FairSlots& slots, LeasedBatch& into);

  /// Turns also those into deliveries that will have to wait, within a share of the time: fan-out never
  /// waits for capacity to send, and never takes it from what can be sent.
  void fan_out_ahead(store::Session& session, QueueScanner& scanner, delivery::FairSlots& slots,
                     LeasedBatch& into);

 private:
  store::Lease new_lease();
  std::vector<delivery::WebhookId> take_due(ReadyWebhooks& ready, delivery::FairSlots& slots);
  void claim_part(store::Session& session, ReadyWebhooks& ready, delivery::FairSlots& slots,
                  const std::vector<store::ClaimRequest>& requests, LeasedBatch& into);
  void fan_out(store::Session& session, QueueScanner& scanner,
               const std::vector<store::TakeRequest>& requests, delivery::FairSlots& slots, Ahead ahead,
               LeasedBatch& into);
  /// A turn of the fan-out, in one transaction or, where the database refuses some of it, in several.
  struct Turn {
    delivery::FairSlots& slots;
    Ahead ahead;
    bool full = false;  // no slot was left for some
  };
  std::map<delivery::EntityId, delivery::NotificationId> fan_out_part(
      store::Session& session, QueueScanner& scanner, const std::vector<store::TakeRequest>& requests,
      Turn& turn, LeasedBatch& into);
  void fan_out_one_by_one(store::Session& session, QueueScanner& scanner, const store::TakeRequest& request,
                          Turn& turn, LeasedBatch& into);
  void report(const store::FanOut& fan_out) const;
  void report_left(std::string_view what, std::size_t count);

  platform::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  std::mt19937_64 random_;
  Pacer ahead_pacer_;
  std::deque<delivery::WebhookId> unidentified_;  // due, and not known yet whose they are
  platform::MonotonicTime next_left_report_{};
};

}  // namespace dispatcher
