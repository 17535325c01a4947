#include "dispatcher/schedule/paused_rest.hpp"

#include <algorithm>

namespace dispatcher {

void rest_paused(PausedParts& paused, std::vector<store::ReceivingWebhook>& receiving) {
  const auto now = platform::monotonic_now();
  for (auto& webhook : receiving) {
    const auto left = paused.time_left(webhook.entity, webhook.target.webhook, webhook.target.url, now);
    if (left.count() <= 0) continue;
    webhook.rest = std::max(webhook.rest, left);
    paused.put_off(webhook.target.webhook);
  }
}

void rest_paused(const PausedParts& paused, std::map<delivery::EntityId, store::Recipient>& recipients) {
  const auto now = platform::monotonic_now();
  for (auto& [entity, recipient] : recipients) {
    for (auto& subscriber : recipient.webhooks) {
      const auto& target = subscriber.target;
      if (paused.time_left(entity, target.webhook, target.url, now).count() > 0) subscriber.resting = true;
    }
  }
}

}  // namespace dispatcher
