#include "admin/output/shifted_times_note.hpp"

namespace admin {

namespace {

std::string before_commit(std::int64_t notifications, std::int64_t hours) {
  return std::to_string(notifications) + " have an ocurrida_en of " + std::to_string(hours) +
         " h before their commit, to the minute";
}

constexpr const char* advice = ": their writer may have shifted it by its time zone (docs/drivers.md#times)";

}  // namespace

std::string shifted_times_note(const std::vector<store::ShiftedTimes>& found) {
  std::string text;
  for (const auto& one : found)
    text += (text.empty() ? "of the last notifications of " : "; of those of ") + one.event + ", " +
            before_commit(one.notifications, one.hours) + " (the last is " + to_string(one.last) + ")";
  return text.empty() ? text : text + advice;
}

std::string shifted_times_note(const std::map<std::int64_t, std::int64_t>& counts,
                               std::int64_t notifications) {
  for (const auto& [hours, count] : counts)
    if (2 * count >= notifications) return before_commit(count, hours) + advice;
  return {};
}

}  // namespace admin
