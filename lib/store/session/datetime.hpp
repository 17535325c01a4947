// A DATETIME(3) in UTC as SQL text: `2026-11-20 10:00:00.000`. The connector drops the fraction of one that
// travels in binary, so statements select `CAST(column AS CHAR)`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/platform/clock.hpp"

namespace store {

std::string format_datetime(platform::UtcTime time);

/// nullopt: not a day of the calendar (`0000-00-00`, `2026-02-30`), which some modes of the writer's session
/// let in. Throws std::runtime_error for text of another form.
std::optional<platform::UtcTime> parse_datetime(std::string_view text);

}  // namespace store
