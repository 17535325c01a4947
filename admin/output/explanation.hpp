// Explains why a webhook's deliveries wait, until when, and the highest rate of sending. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/platform/config/config.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/backlog/webhook_backlog.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace admin {

struct Facts {
  store::Webhook webhook;
  store::WebhookBacklog backlog;
  store::Pauses pauses;
  std::vector<store::RunningOutage> outages;
  std::vector<store::InFlight> in_flight;                // the deliveries of all webhooks
  std::optional<std::vector<std::string>> keys_in_file;  // unset: this user cannot read the file
};

struct Cause {
  std::string name;  // the value of `causa` in the JSON
  std::optional<platform::UtcTime> until{};
  std::string text;  // a sentence, with the remedy if there is one
};
/// The causes that make the webhook's deliveries wait, or would make a new one wait; first the causes outside
/// the webhook itself. Empty: nothing waits, and a new delivery would wait only for a free slot.
std::vector<Cause> causes_of(const Facts& facts, const platform::DeliverySettings& settings);

/// The most that one dispatcher with this configuration can send to the webhook.
struct Ceiling {
  unsigned at_once;
  std::optional<std::int64_t> each_ms;  // median of the webhook's latest attempts; unset: there is none
  std::optional<double> per_second;
};
Ceiling ceiling_of(const Facts& facts, const platform::DeliverySettings& settings);

std::int64_t in_flight_to(const Facts& facts);

}  // namespace admin
