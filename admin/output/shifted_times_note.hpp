// Names notifications with times that are whole hours before their commit. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/store/notifications/shifted_times.hpp"

namespace admin {

/// For `config check`: one line, or empty.
std::string shifted_times_note(const std::vector<store::ShiftedTimes>& found);

/// For `report`: `counts` has the number of notifications for each number of whole hours. Empty unless half
/// of the `notifications` are off by equally many.
std::string shifted_times_note(const std::map<std::int64_t, std::int64_t>& counts,
                               std::int64_t notifications);

}  // namespace admin
