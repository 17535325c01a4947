// What a claim or a fan-out has leased, and where it is to be sent.
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

  struct Destination {
    store::Target target;
    std::string host;
    platform::MonotonicTime read_at;  // it stood so then, or a moment before
  };

  void add_destination(store::Target target, platform::MonotonicTime read_at);
  /// What a claim has leased. What it cancelled is logged as an error.
  void add(store::Leased leased, const platform::Log& log);

  Grants grants;
  std::vector<delivery::LeasedDelivery> deliveries;
  std::map<delivery::WebhookId, Destination> destinations;
  platform::MonotonicTime leased_at{};  // or a little before
  bool worked = false;                  // something was done, even if there is nothing to send
};

/// Where requests to a webhook go, and which webhook's slots they take.
Destination destination_of(const store::Target& target, delivery::EntityId entity, bool probing);

/// Leases of random tokens, for `duration`.
class LeaseSource {
 public:
  explicit LeaseSource(platform::Milliseconds duration) : duration_(duration) {}
  store::Lease next() { return {random_(), duration_}; }

 private:
  platform::Milliseconds duration_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace dispatcher
