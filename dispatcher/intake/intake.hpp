// What the database has for the network: claims of what is due, and the fan-out of notifications.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "delivery/slots.hpp"
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

/// Deliveries leased to this dispatcher, ready to be sent.
struct LeasedBatch {
  struct Destination {
    store::Target target;
    bool probing;
  };
  std::vector<delivery::LeasedDelivery> deliveries;
  std::map<delivery::WebhookId, Destination> destinations;
  platform::MonotonicTime leased_at{};  // or a little before
  bool worked = false;                  // something was done, even if there is nothing to send
};

class Intake {
 public:
  /// `metrics` outlives it.
  Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);

  /// Takes what is due, of webhooks in turn, as far as `slots` goes. Throws what the store throws, as do the
  /// others.
  LeasedBatch claim(store::Session& session, QueueScanner& scanner, const delivery::Slots& slots);

  /// Turns notifications into deliveries, entities taking turns: those that can be sent at once, as far as
  /// `slots` goes.
  LeasedBatch fan_out(store::Session& session, QueueScanner& scanner, const delivery::Slots& slots);

  /// Turns also those into deliveries that will have to wait, within a share of the time: fan-out never
  /// waits for capacity to send, and never takes it from what can be sent.
  LeasedBatch fan_out_ahead(store::Session& session, QueueScanner& scanner, const delivery::Slots& slots);

 private:
  store::Lease new_lease();
  static std::vector<store::ClaimRequest> plan_claims(const std::vector<store::ReceivingWebhook>& receiving,
                                                      const std::vector<ReadyWebhooks::Due>& due,
                                                      const delivery::Slots& slots);
  std::vector<ReadyWebhooks::Due> next_due(const ReadyWebhooks& ready, const delivery::Slots& slots) const;
  LeasedBatch claim(store::Session& session, ReadyWebhooks& ready, const std::vector<ReadyWebhooks::Due>& due,
                    const delivery::Slots& slots);
  LeasedBatch fan_out_isolated(store::Session& session, QueueScanner& scanner,
                               const std::vector<store::TakeRequest>& requests, const delivery::Slots& slots,
                               Ahead ahead);
  LeasedBatch fan_out(store::Session& session, QueueScanner& scanner,
                      const std::vector<store::TakeRequest>& requests, const delivery::Slots& slots,
                      Ahead ahead);

  platform::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  std::mt19937_64 random_;
  Pacer ahead_pacer_;
  unsigned claim_alone_ = 0;    // so many claims of one webhook each, likewise
  unsigned fan_out_alone_ = 0;  // so many turns of one entity each, after a batch that the database refused
};

}  // namespace dispatcher
