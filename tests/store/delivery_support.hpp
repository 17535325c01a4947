// A delivery from its notification to its result, step by step.
#pragma once

#include <vector>

#include "database.hpp"

namespace store::testing {

inline constexpr Lease long_lease{101, platform::Milliseconds(60000)};

/// A webhook of entity 1, and short words for the steps of a delivery's life.
struct DeliveryFixture {
  Database database;
  Session& session = database.session;
  Webhook webhook = add_webhook(session, 1);

  std::vector<LeasedDelivery> claim_some(unsigned limit, const Lease& lease = long_lease) {
    return claim(session, {{webhook.id, limit}}, lease).leased.deliveries;
  }
  LeasedDelivery claim_one(const Lease& lease = long_lease) { return claim_some(1, lease).at(0); }
  /// Nothing of the webhook is due.
  bool nothing_due() {
    const auto waiting = find_waiting_webhooks(session, {IdRange{}});
    return waiting.empty() || waiting.front().until.count() > 0;
  }
  Delivery only() { return list_deliveries(session, {}).at(0); }
  void queue_one() {
    insert_notification(session, 1);
    fan_out(session);
  }
};

}  // namespace store::testing
