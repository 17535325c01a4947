// Explains why a webhook's deliveries wait and until when, and computes the highest rate at which they can be
// sent. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/config.hpp"
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
  std::vector<store::InFlight> in_flight;                // the deliveries in flight to all webhooks
  std::optional<std::vector<std::string>> keys_in_file;  // unset: this user cannot read secrets.key_file
};

struct Cause {
  std::string name;  // the value of `causa` in the JSON
  std::optional<platform::UtcTime> until{};
  std::string text;  // a sentence, with the remedy if there is one
};
/// Returns the causes that make the webhook's deliveries wait, or would make a new delivery wait. Causes
/// outside the webhook itself come first. Empty: nothing waits, and a new delivery would wait only for a free
/// slot.
std::vector<Cause> causes_of(const Facts& facts, const config::DeliverySettings& settings);

/// The most that one dispatcher with this configuration can send to the webhook.
struct Ceiling {
  unsigned at_once;
  std::optional<std::int64_t> each_ms;  // median duration of the webhook's latest attempts, if there are any
  std::optional<double> per_second;
};
Ceiling ceiling_of(const Facts& facts, const config::DeliverySettings& settings);

std::int64_t in_flight_to(const Facts& facts);

/// A sum of numbers of a WebhookBacklog.
std::string counted(std::int64_t count);

}  // namespace admin
