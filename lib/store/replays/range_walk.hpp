// The deliveries of a webhook that a replay of a range is of, in the order of their ids, which is nearly that
// of time: no more than a day apart.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/store/replays/replays.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Within the calendar that every server has.
ReplayRange bounded(ReplayRange range);

/// An id up to which all of the webhook's were created before `since`, found by halves: some twenty rows.
DeliveryId find_start(Session& session, WebhookId webhook, UtcTime since);

/// The next ones that fit.
struct ReplayPage {
  std::vector<DeliveryId> chosen;
  DeliveryId looked_up_to = 0;
  bool last = false;  // behind it there is none
};

/// Up to `room` (1 or more) of those after `after`. Where nearly all fit it reads few others, and never more
/// than 2,000 in all.
ReplayPage read_page(Session& session, WebhookId webhook, const ReplayRange& range, DeliveryId after,
                     std::size_t room);

}  // namespace store
