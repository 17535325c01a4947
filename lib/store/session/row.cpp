#include "store/session/row.hpp"

#include <algorithm>
#include <stdexcept>

#include "platform/text.hpp"
#include "store/session/datetime.hpp"

namespace store {

namespace {

[[noreturn]] void refuse(std::string_view column, std::string_view why) {
  throw std::runtime_error("column " + std::string(column) + " " + std::string(why));
}

template <class T>
T read_number(std::string_view column, std::string_view text) {
  const auto value = platform::parse_number<T>(text);
  if (!value) refuse(column, "is not the integer its reader expects: " + std::string(text));
  return *value;
}

}  // namespace

void Result::append(std::optional<std::string_view> value) {
  cells_.push_back({text_.size(), value ? value->size() : std::string::npos});
  if (value) text_ += *value;
}

std::optional<std::string_view> Result::cell(std::size_t row, std::size_t column) const {
  const Cell& cell = cells_.at(row * columns_.size() + column);
  if (cell.length == std::string::npos) return std::nullopt;
  return std::string_view(text_).substr(cell.begin, cell.length);
}

std::optional<std::string_view> Row::cell(std::string_view column) const {
  const auto& columns = result_->columns();
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) refuse(column, "is not in the result");
  return result_->cell(number_, static_cast<std::size_t>(found - columns.begin()));
}

std::string_view Row::value(std::string_view column) const {
  const auto found = cell(column);
  if (!found) refuse(column, "is NULL where its reader expects a value");
  return *found;
}
std::optional<std::string> Row::optional_text(std::string_view column) const {
  return null(column) ? std::nullopt : std::optional(text(column));
}
std::int64_t Row::integer(std::string_view column) const {
  return read_number<std::int64_t>(column, value(column));
}
std::uint64_t Row::unsigned_integer(std::string_view column) const {
  return read_number<std::uint64_t>(column, value(column));
}
UtcTime Row::time(std::string_view column) const {
  const auto time = parse_datetime(value(column));
  if (!time) refuse(column, "is not a date of the calendar: " + text(column));
  return *time;
}
std::optional<std::int64_t> Row::optional_integer(std::string_view column) const {
  return null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<UtcTime> Row::optional_time(std::string_view column) const {
  return null(column) ? std::nullopt : parse_datetime(value(column));
}

}  // namespace store
