// What the database has for the network: claims of what is due, and expansions of notifications.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "expansion.hpp"
#include "lookout.hpp"
#include "metrics.hpp"
#include "pacer.hpp"
#include "platform/config.hpp"
#include "platform/log.hpp"
#include "slots.hpp"
#include "store/claim.hpp"
#include "store/expansion.hpp"
#include "store/session.hpp"

namespace dispatcher {

/// Deliveries leased to this dispatcher, ready to be sent.
struct Shipment {
  struct Destination {
    store::Target target;
    bool probing;
  };
  std::vector<store::LeasedDelivery> deliveries;
  std::map<store::WebhookId, Destination> destinations;
  platform::MonotonicTime leased_at{};  // or a little before
  bool worked = false;                  // something was done, even if there is nothing to send
};

class Intake {
 public:
  /// `metrics` outlives it.
  Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics);

  /// Takes what is due, of webhooks in turn, as far as `slots` goes. Throws what the store throws, as do the
  /// others.
  Shipment claim(store::Session& session, Lookout& lookout, const Slots& slots);

  /// Turns notifications into deliveries, entities taking turns: those that can be sent at once, as far as
  /// `slots` goes.
  Shipment expand(store::Session& session, Lookout& lookout, const Slots& slots);

  /// Turns also those into deliveries that will have to wait, within a share of the time: expansion never
  /// waits for capacity to send, and never takes it from what can be sent.
  Shipment expand_ahead(store::Session& session, Lookout& lookout, const Slots& slots);

 private:
  store::Lease new_lease();
  static std::vector<store::ClaimRequest> plan_claims(const std::vector<store::ReceivingWebhook>& receiving,
                                                      const std::vector<WebhookAgenda::Due>& due,
                                                      const Slots& slots);
  std::vector<WebhookAgenda::Due> next_due(const WebhookAgenda& agenda, const Slots& slots) const;
  Shipment claim(store::Session& session, WebhookAgenda& agenda, const std::vector<WebhookAgenda::Due>& due,
                 const Slots& slots);
  Shipment expand_carefully(store::Session& session, Lookout& lookout,
                            const std::vector<store::TakeRequest>& requests, const Slots& slots, Ahead ahead);
  Shipment expand(store::Session& session, Lookout& lookout, const std::vector<store::TakeRequest>& requests,
                  const Slots& slots, Ahead ahead);

  platform::DeliverySettings settings_;
  platform::Log log_;
  const Metrics& metrics_;
  std::mt19937_64 random_;
  Pacer ahead_pacer_;
  unsigned claim_alone_ = 0;   // so many claims of one webhook each, likewise
  unsigned expand_alone_ = 0;  // so many turns of one entity each, after a batch that the database refused
};

}  // namespace dispatcher
