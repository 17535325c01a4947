// The deliveries that a claim or a fan-out has leased, and where to send them.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/deliveries/claim.hpp"

namespace dispatcher {

/// Deliveries leased to this dispatcher, ready to be sent, and the slots taken for them.
struct LeasedBatch {
  explicit LeasedBatch(FairSlots& slots) : grants(slots) {}

  struct CurrentTarget {
    store::Target target;
    std::string host;
    platform::MonotonicTime read_at;  // when the target was valid, or a moment later
  };

  void add_target(store::Target target, platform::MonotonicTime read_at);
  /// Adds what a claim has leased. Logs an error for each delivery that was cancelled because its
  /// notification belongs to another entity than its webhook.
  void add(store::Leased leased, const platform::Log& log);

  Grants grants;
  std::vector<delivery::LeasedDelivery> deliveries;
  std::map<delivery::WebhookId, CurrentTarget> targets;
  platform::MonotonicTime leased_at{};  // when the leases began, or a little earlier
  bool worked = false;                  // something was done, even if there is nothing to send
};

/// Returns what FairSlots must know of a webhook.
Destination destination_of(const store::Target& target, delivery::EntityId entity, bool one_at_a_time);
inline Destination destination_of(const store::ReceivingWebhook& webhook) {
  return destination_of(webhook.target, webhook.entity, webhook.one_at_a_time);
}

/// Makes leases that last `duration`, with random tokens.
class LeaseSource {
 public:
  explicit LeaseSource(platform::Milliseconds duration) : duration_(duration) {}
  store::Lease next() { return {random_(), duration_}; }

 private:
  platform::Milliseconds duration_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace dispatcher
