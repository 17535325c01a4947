// Notifications that occurred whole hours before their commit, so that their writer may have shifted the time
// by its zone (docs/drivers.md#times). A time ahead of the clock is refused at the INSERT.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Returns for how many whole hours, 1 to 14, a notification has waited between `occurred` and its fan-out or
/// rejection, which comes within a second of its commit; nullopt if a minute or more is left over. A
/// right time that lies hours back meets this by chance once in sixty.
std::optional<std::int64_t> whole_hours_between(UtcTime occurred, UtcTime taken_up);

struct ShiftedTimes {
  std::string event;
  std::int64_t hours;
  std::int64_t notifications;
  NotificationId last;
};

/// Looks at the latest 1,000 notifications of each event within two days. Returns an event with those that
/// are off by equally many hours, if these were taken up in three different minutes at least.
std::vector<ShiftedTimes> find_shifted_times(Session& session);

}  // namespace store
