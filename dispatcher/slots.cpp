#include "slots.hpp"

#include <algorithm>

namespace dispatcher {

unsigned Slots::available(store::WebhookId webhook, bool probing) const {
  const auto used = webhooks_.find(webhook);
  const unsigned in_flight = used == webhooks_.end() ? 0 : used->second.in_flight;
  const unsigned own_limit = probing ? 1 : per_webhook_;
  if (in_flight >= own_limit || full()) return 0;
  unsigned result = std::min(own_limit - in_flight, total_ - in_flight_);
  if (probing) {
    const unsigned probe_limit = std::max(1U, total_ / 2);
    result = std::min(result, probe_limit - std::min(probe_limit, probes_));
  }
  return result;
}

void Slots::take(store::WebhookId webhook, bool probing) {
  auto& use = webhooks_[webhook];
  ++use.in_flight;
  ++in_flight_;
  if (probing) {
    ++use.probes;
    ++probes_;
  }
}

void Slots::give_back(store::WebhookId webhook) {
  const auto used = webhooks_.find(webhook);
  if (used == webhooks_.end()) return;
  --in_flight_;
  if (used->second.probes > 0) {
    --used->second.probes;
    --probes_;
  }
  if (--used->second.in_flight == 0) webhooks_.erase(used);
}

}  // namespace dispatcher
