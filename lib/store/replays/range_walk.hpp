// Walks over the deliveries of a webhook that match a replay's range, in the order of their ids. Ids do not
// always follow the times of creation: the walk misses no delivery as long as none was created more than a
// day before a delivery with a lower id.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/store/replays/replays.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Replaces `since` and `until` before 1970 by 1970, because some database servers refuse some earlier dates.
ReplayRange bounded(ReplayRange range);

/// Returns an id such that every delivery of the webhook with this id or a lower one was created before
/// `since`. Finds it by bisection, which reads some twenty rows.
DeliveryId find_start(Session& session, WebhookId webhook, UtcTime since);

/// The next matching deliveries.
struct ReplayPage {
  std::vector<DeliveryId> chosen;
  DeliveryId looked_up_to = 0;  // the last id read
  bool last = false;            // true: no match follows
};

/// Returns up to `room` (1 or more) matches with ids above `after`. Reads at most 2,000 rows in all: the
/// first query reads few rows, and each further query reads more than the previous one. So a small `room` is
/// filled from few rows if nearly all rows match.
ReplayPage read_page(Session& session, WebhookId webhook, const ReplayRange& range, DeliveryId after,
                     std::size_t room);

}  // namespace store
