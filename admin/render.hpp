// A result as text: JSON for programs, aligned columns for people. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"

namespace admin {

/// A list has one element to a line; anything else is one line. Ends with a line end.
std::string render_json(const json::Value& value);

/// An array of objects as a table under the names of the first one's members; an object as one `name  value`
/// line for each member, lists of objects below it as tables of their own. `cell_limit`: longer cells of a
/// table are cut and end in `…`. Control characters are shown escaped: what a receiver answered cannot drive
/// the terminal. Ends with a line end.
std::string render_people(const json::Value& value, std::optional<std::size_t> cell_limit);

/// The names of a row's members, and their values, each a line as RFC 4180 has it. Cells that a spreadsheet
/// would take for a formula begin with an apostrophe (OWASP, CSV injection).
std::string csv_names(const json::Object& row);
std::string csv_line(const json::Object& row);

/// ISO 8601 in UTC with milliseconds; null when unset.
json::Value time_value(const std::optional<platform::UtcTime>& time);

}  // namespace admin
