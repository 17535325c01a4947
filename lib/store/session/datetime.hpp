// Converts a DATETIME(3) in UTC to and from SQL text: `2026-11-20 10:00:00.000`. Statements select
// `CAST(column AS CHAR)`, because the connector drops the fraction of a binary DATETIME.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/platform/clock.hpp"

namespace store {

std::string format_datetime(platform::UtcTime time);

/// Returns nullopt when the date in `text` is not in the calendar (`0000-00-00`, `2026-02-30`): sessions with
/// some sql_modes can store such a date. Throws std::runtime_error for text of another form.
std::optional<platform::UtcTime> parse_datetime(std::string_view text);

}  // namespace store
