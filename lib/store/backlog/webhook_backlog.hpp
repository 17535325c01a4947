// What waits for one webhook, and what may keep it waiting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct WebhookBacklog {
  bool entity_active;
  bool probing;                        // its last attempt failed in transport or with 429/503: one in flight
  std::optional<UtcTime> rests_until;  // by a 429
  std::optional<UtcTime> probe_at;     // something of it may be tried ahead of its schedule from then on
  std::vector<std::string> secret_keys;  // which of secrets.key_file seal its secrets
  std::int64_t due, later, held;         // counted up to most_counted
  std::optional<UtcTime> oldest_due;
  std::optional<UtcTime> next_attempt;    // of those that are not due
  UtcTime now;                            // by the database's clock
  UtcTime dispatcher_seen;                // one at least; to some seconds
  std::optional<std::int64_t> median_ms;  // of its latest attempts
  static constexpr std::int64_t most_counted = 10'000;
};
/// nullopt: no such webhook.
std::optional<WebhookBacklog> find_backlog(Session& session, WebhookId id);

/// Where what is being sent at this moment goes: a URL for each delivery.
struct InFlight {
  WebhookId webhook;
  std::string url;
};
std::vector<InFlight> list_in_flight(Session& session);

}  // namespace store
