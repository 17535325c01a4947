// Walks over the deliveries of a webhook that match a replay's range, in the order of their ids. A delivery
// may have been created earlier than one with a lower id, by a day at most.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/store/replays/replays.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Moves an end before 1970 to 1970, because some servers refuse some of the earlier dates.
ReplayRange bounded(ReplayRange range);

/// Finds, by bisection over some twenty rows, an id up to which all the webhook's deliveries were created
/// before `since`.
DeliveryId find_start(Session& session, WebhookId webhook, UtcTime since);

/// The next matching deliveries.
struct ReplayPage {
  std::vector<DeliveryId> chosen;
  DeliveryId looked_up_to = 0;  // the last id read
  bool last = false;            // true: no match follows
};

/// Reads up to `room` (1 or more) matches after `after`. Reads at most 2,000 rows, in reads that grow, so
/// that a small `room` needs few rows where nearly all rows match.
ReplayPage read_page(Session& session, WebhookId webhook, const ReplayRange& range, DeliveryId after,
                     std::size_t room);

}  // namespace store
