// Finds the deliveries of a webhook that wait for a retry.
#pragma once

#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// Returns, in the order of their ids, up to batch_rows deliveries with ids above `after` that wait for a
/// retry. Reads only such deliveries, however long the history. Locks nothing.
std::vector<delivery::DeliveryId> find_retries(Session& session, delivery::WebhookId webhook,
                                               delivery::DeliveryId after);

}  // namespace store
