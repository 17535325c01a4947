// Formats a result: JSON for programs, aligned columns for people. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"

namespace admin {

/// Formats a list with one element per line, anything else as one line. Ends with a line end.
std::string render_json(const json::Value& value);

/// Formats an array of objects as a table; the names of the first object's members are its header. Formats an
/// object as one line for each member, `name  value`; lists of objects follow as tables. A table's cell wider
/// than `cell_limit` columns of the terminal is cut and ends in `…`. Control characters are escaped, so that
/// a receiver's text cannot control the terminal. Ends with a line end.
std::string render_people(const json::Value& value, std::optional<std::size_t> cell_limit);

/// csv_names returns the header, csv_line a row, as one line of CSV (RFC 4180). A cell that a spreadsheet
/// would take for a formula begins with an apostrophe (OWASP, CSV injection).
std::string csv_names(const json::Object& row);
std::string csv_line(const json::Object& row);

/// The row of a dry run.
json::Object simulated(json::Object row);

/// ISO 8601 in UTC with milliseconds; null when unset.
json::Value time_value(const std::optional<platform::UtcTime>& time);

}  // namespace admin
