// The backlog of one webhook, and the reasons why it may wait.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct WebhookBacklog {
  bool entity_active;
  bool one_at_a_time;                     // because the last attempt failed in transport or with 429 or 503
  std::optional<UtcTime> rests_until;     // after a 429 or with an unreadable secret
  std::optional<UtcTime> probe_at;        // when the next early attempt or probe may start
  std::optional<std::string> secret_key;  // id of the key that seals the present secret
  std::int64_t due, later, held;          // numbers of deliveries, each up to most_counted
  std::optional<UtcTime> oldest_due;      // earliest due time of the due deliveries
  std::optional<UtcTime> next_attempt;    // earliest due time of the deliveries not due yet
  UtcTime now;                            // the database's time
  UtcTime dispatcher_seen;                // the database's time, as last noted by a dispatcher (every 10 s)
  std::optional<std::int64_t> median_ms;  // median duration of recent attempts (100 at most)
  static constexpr std::int64_t most_counted = 10'000;
};
/// Returns nullopt when there is no such webhook.
std::optional<WebhookBacklog> find_backlog(Session& session, WebhookId id);

/// A delivery in flight, and the present URL of its webhook.
struct InFlight {
  WebhookId webhook;
  std::string url;
};
/// Lists the deliveries in flight, at most most_counted.
std::vector<InFlight> list_in_flight(Session& session);

}  // namespace store
