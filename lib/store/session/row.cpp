#include "lib/store/session/row.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lib/store/session/datetime.hpp"
#include "lib/text/text.hpp"

namespace store {

namespace {

[[noreturn]] void refuse(std::string_view column, std::string_view why) {
  throw std::runtime_error("column " + std::string(column) + " " + std::string(why));
}

bool is_null(const Result::Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

/// The cell must not be NULL.
std::string text_of(const Result::Cell& cell) {
  const auto* number = std::get_if<std::int64_t>(&cell);
  return number != nullptr ? std::to_string(*number) : std::string(std::get<std::string_view>(cell));
}

template <class T>
T number_of(std::string_view column, const Result::Cell& cell) {
  std::optional<T> value;
  if (const auto* number = std::get_if<std::int64_t>(&cell); number != nullptr && std::in_range<T>(*number))
    value = static_cast<T>(*number);
  else if (const auto* text = std::get_if<std::string_view>(&cell))
    value = text::parse_number<T>(*text);
  if (!value) refuse(column, "is not the integer its reader expects: " + text_of(cell));
  return *value;
}

UtcTime time_of(std::int64_t microseconds) {
  return UtcTime(std::chrono::floor<platform::Milliseconds>(std::chrono::microseconds(microseconds)));
}

}  // namespace

void Result::append(std::string_view text) {
  cells_.emplace_back(Place{text_.size(), text.size()});
  text_ += text;
}

Result::Cell Result::cell(std::size_t row, std::size_t column) const {
  const auto& cell = cells_.at(row * columns_.size() + column);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  if (const auto* place = std::get_if<Place>(&cell))
    return std::string_view(text_).substr(place->begin, place->length);
  return {};
}

Result::Cell Row::cell(std::string_view column) const {
  const auto& columns = result_->columns();
  if (expected_ >= columns.size() || columns[expected_] != column) {
    const auto found = std::ranges::find(columns, column);
    if (found == columns.end()) refuse(column, "is not in the result");
    expected_ = static_cast<std::size_t>(found - columns.begin());
  }
  return result_->cell(number_, expected_++);
}

Result::Cell Row::value(std::string_view column) const {
  auto found = cell(column);
  if (is_null(found)) refuse(column, "is NULL where its reader expects a value");
  return found;
}

std::string Row::text(std::string_view column) const { return text_of(value(column)); }
std::int64_t Row::integer(std::string_view column) const {
  return number_of<std::int64_t>(column, value(column));
}
std::uint64_t Row::unsigned_integer(std::string_view column) const {
  return number_of<std::uint64_t>(column, value(column));
}
UtcTime Row::time(std::string_view column) const {
  return parse_datetime(text(column)).value_or(UtcTime{});  // 1970
}
UtcTime Row::unix_time(std::string_view column) const { return time_of(integer(column)); }

std::optional<std::string> Row::optional_text(std::string_view column) const {
  const auto found = cell(column);
  return is_null(found) ? std::nullopt : std::optional(text_of(found));
}
std::optional<std::int64_t> Row::optional_integer(std::string_view column) const {
  const auto found = cell(column);
  return is_null(found) ? std::nullopt : std::optional(number_of<std::int64_t>(column, found));
}
std::optional<UtcTime> Row::optional_time(std::string_view column) const {
  const auto found = cell(column);
  return is_null(found) ? std::nullopt : parse_datetime(text_of(found));
}
std::optional<UtcTime> Row::optional_unix_time(std::string_view column) const {
  const auto microseconds = optional_integer(column);
  return microseconds ? std::optional(time_of(*microseconds)) : std::nullopt;
}

}  // namespace store
