// The deliveries of several webhooks in one list, newest first, as GET /entregas shows them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/deliveries/delivery_log.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct EntityDelivery {
  WebhookId webhook;
  LoggedDelivery delivery;
};

struct EntityLogPage {
  std::vector<EntityDelivery> deliveries;  // newest first
  std::optional<DeliveryId> next;          // the next page is older than this; unset: this page is the last
};
/// Reads the newest deliveries of `webhooks` (at most max_webhooks_per_entity) that match `filter` and are
/// older than `before` (unset: all). Merges the webhooks' deliveries by the ids in an index, then reads the
/// rows of the newest. With a filter, reads 2,000 rows at most, whatever the number of webhooks, so a page
/// may have fewer than `limit` matches and still a `next`.
EntityLogPage read_entity_log_page(Session& session, const std::vector<WebhookId>& webhooks,
                                   const LogFilter& filter, unsigned limit, std::optional<DeliveryId> before);

/// Returns the delivery if one of `webhooks` has it, and it matches `filter`; otherwise nullopt.
std::optional<EntityDelivery> find_entity_delivery(Session& session, const std::vector<WebhookId>& webhooks,
                                                   const LogFilter& filter, DeliveryId id);

/// Returns the data of the deliveries' notifications. Leaves out data that are longer than longest_data.
std::map<DeliveryId, std::string> read_event_data(Session& session, const std::vector<DeliveryId>& ids);

}  // namespace store
