// Finds the deliveries of a webhook that wait for a retry.
#pragma once

#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// Returns deliveries that wait for a retry and have ids above `after`, in the order of their ids: at most
/// batch_rows (lib/store/session/batches.hpp). Reads only such deliveries, however long the history. Locks
/// nothing.
std::vector<delivery::DeliveryId> find_retries(Session& session, delivery::WebhookId webhook,
                                               delivery::DeliveryId after);

}  // namespace store
