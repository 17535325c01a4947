// What an entity sees of the deliveries of its webhooks: the evidence of each. Nothing else of the API reads
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/deliveries/deliveries.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct LoggedDelivery {
  DeliveryId id;
  std::string event;
  bool test;
  std::string state;  // as of Delivery; entregada from its first 2xx on, whatever a replay comes to
  std::int64_t attempts;
  UtcTime created;
  std::optional<UtcTime> delivered;     // the first 2xx
  std::optional<UtcTime> ended;         // delivered, given up or cancelled
  std::optional<UtcTime> next_attempt;  // of a pendiente
  std::optional<std::int64_t> last_status;
  std::string last_error;
};

/// Unset fields do not narrow.
struct LogFilter {
  std::optional<std::string> state{};
  std::optional<std::string> event{};
  std::optional<UtcTime> since{};  // of the creation, inclusive
  std::optional<UtcTime> until{};  // exclusive
};

struct LogPage {
  std::vector<LoggedDelivery> deliveries;  // the newest first
  std::optional<DeliveryId> next;          // go on with what is older than this; none: there is no more
};
/// Deliveries of a webhook that are older than `before` (unset: all). It looks at 2,000 at most: where few of
/// them fit the filter, a page has fewer than `limit`, and `next` all the same.
LogPage read_log_page(Session& session, WebhookId webhook, const LogFilter& filter, unsigned limit,
                      std::optional<DeliveryId> before);

/// What a page with a filter looks at, fixed before it is read: what is removed or added meanwhile moves no
/// end of it.
struct LogWindow {
  DeliveryId before;
  std::optional<DeliveryId> oldest{};  // none: there is nothing older than `before`
  bool full = false;                   // there may be more beyond it
};
LogWindow find_log_window(Session& session, WebhookId webhook, std::optional<DeliveryId> before);
LogPage read_log_window(Session& session, WebhookId webhook, const LogFilter& filter, unsigned limit,
                        const LogWindow& window);

struct LoggedEvidence {
  LoggedDelivery delivery;
  UtcTime occurred;
  std::string data;                       // of the notification; of a test, sealed (webhook/sealed_data.hpp)
  std::vector<RecordedAttempt> attempts;  // the newest 100, the oldest of them first
};
/// nullopt: no such delivery of this webhook.
std::optional<LoggedEvidence> find_evidence(Session& session, WebhookId webhook, DeliveryId delivery);

}  // namespace store
