// Walks over the deliveries of a webhook that match a replay's range, in the order of their ids. The
// walk allows for a delivery that was created up to a day before a delivery with a lower id.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/store/replays/replays.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Replaces `since` and `until` before 1970 by 1970, because some database servers refuse some earlier dates.
ReplayRange bounded(ReplayRange range);

/// Finds an id up to which all the webhook's deliveries were created before `since`. Reads some twenty rows,
/// by bisection.
DeliveryId find_start(Session& session, WebhookId webhook, UtcTime since);

/// The next matching deliveries.
struct ReplayPage {
  std::vector<DeliveryId> chosen;
  DeliveryId looked_up_to = 0;  // the last id read
  bool last = false;            // true: no match follows
};

/// Returns up to `room` (1 or more) matches with ids above `after`. Reads at most 2,000 rows in all. Each
/// query reads more rows than the last, so that a small `room` costs few rows where nearly all rows match.
ReplayPage read_page(Session& session, WebhookId webhook, const ReplayRange& range, DeliveryId after,
                     std::size_t room);

}  // namespace store
