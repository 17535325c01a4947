// The deliveries of an entity's webhooks and the evidence of each, as the API shows them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/deliveries/deliveries.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct LoggedDelivery {
  WebhookId webhook;
  DeliveryId id;
  std::string event;
  bool test;
  /// A value of Delivery::state. A delivery that has had a 2xx stays entregada, also while it is replayed and
  /// if the replay fails.
  std::string state;
  std::int64_t attempts;
  UtcTime created;
  std::optional<UtcTime> delivered;     // the first 2xx
  std::optional<UtcTime> ended;         // when the delivery was delivered, failed or cancelled
  std::optional<UtcTime> next_attempt;  // set while `state` is pendiente
  std::optional<std::int64_t> last_status;
  std::string last_error;
};

/// Unset fields match everything.
struct LogFilter {
  std::optional<std::string> state{};
  std::optional<std::string> event{};
  std::optional<UtcTime> since{};  // bounds the creation time, inclusive
  std::optional<UtcTime> until{};  // exclusive
  bool failed = false;             // only those `fallida`, or with a failed attempt before the first 2xx
};

struct LogPage {
  std::vector<LoggedDelivery> deliveries;  // newest first
  std::optional<DeliveryId> next;          // the next page is older than this; unset: this page is the last
};
/// Reads the newest deliveries of `webhooks` (at most max_webhooks_per_entity) that match `filter` and are
/// older than `before` (unset: all). With a filter, reads 2,000 rows at most, whatever the number of
/// webhooks, so a page may have fewer than `limit` matches and still a `next`.
LogPage read_log_page(Session& session, const std::vector<WebhookId>& webhooks, const LogFilter& filter,
                      unsigned limit, std::optional<DeliveryId> before);

/// Returns the delivery if one of `webhooks` has it, and it matches `filter`; otherwise nullopt.
std::optional<LoggedDelivery> find_logged(Session& session, const std::vector<WebhookId>& webhooks,
                                          const LogFilter& filter, DeliveryId id);

/// Returns the data of the deliveries' notifications. Leaves out data that are longer than longest_data.
std::map<DeliveryId, std::string> read_event_data(Session& session, const std::vector<DeliveryId>& ids);

struct LoggedEvidence {
  LoggedDelivery delivery;
  UtcTime occurred;
  std::string data;  // the notification's data; sealed for a test event (lib/webhook/sealed_data.hpp)
  std::vector<RecordedAttempt> attempts;  // the newest 100, oldest first
};
/// Returns nullopt when the webhook has no such delivery.
std::optional<LoggedEvidence> find_evidence(Session& session, WebhookId webhook, DeliveryId delivery);

}  // namespace store
