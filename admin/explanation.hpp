// Why what waits for a webhook waits, until when, and how much could be sent at most. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/platform/config.hpp"
#include "lib/store/backlog/outages.hpp"
#include "lib/store/backlog/pauses.hpp"
#include "lib/store/backlog/webhook_backlog.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace admin {

struct Facts {
  store::Webhook webhook;
  store::WebhookBacklog backlog;
  store::Pauses pauses;
  std::vector<store::RunningOutage> outages;
  std::vector<store::InFlight> in_flight;                // of all webhooks
  std::optional<std::vector<std::string>> keys_in_file;  // none: it cannot be read here
};

struct Cause {
  std::string name;  // of `causa` in the JSON
  std::optional<platform::UtcTime> until{};
  std::string text;  // a sentence, with the remedy where there is one
};
/// What keeps it from being sent, the widest first; empty: nothing waits.
std::vector<Cause> causes_of(const Facts& facts, const platform::DeliverySettings& settings);

/// What one dispatcher of this configuration can send to it at most.
struct Ceiling {
  unsigned at_once;
  std::optional<std::int64_t> each_ms;  // as its latest attempts took; none: it has none
  std::optional<double> per_second;
};
Ceiling ceiling_of(const Facts& facts, const platform::DeliverySettings& settings);

std::int64_t in_flight_to(const Facts& facts);

}  // namespace admin
