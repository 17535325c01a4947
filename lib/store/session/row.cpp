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
T read_number(std::string_view column, const std::string& text) {
  const auto value = platform::parse_number<T>(text);
  if (!value) refuse(column, "is not the integer its reader expects: " + text);
  return *value;
}

}  // namespace

const Row::Cell& Row::cell(std::string_view column) const {
  const auto found = std::ranges::find(*names_, column);
  if (found == names_->end()) refuse(column, "is not in the result");
  return cells_[static_cast<std::size_t>(found - names_->begin())];
}

const std::string& Row::text(std::string_view column) const {
  const auto& found = cell(column);
  if (!found) refuse(column, "is NULL where its reader expects a value");
  return *found;
}
std::int64_t Row::integer(std::string_view column) const {
  return read_number<std::int64_t>(column, text(column));
}
std::uint64_t Row::unsigned_integer(std::string_view column) const {
  return read_number<std::uint64_t>(column, text(column));
}
UtcTime Row::time(std::string_view column) const {
  const auto time = parse_datetime(text(column));
  if (!time) refuse(column, "is not a date of the calendar: " + text(column));
  return *time;
}
std::optional<std::int64_t> Row::optional_integer(std::string_view column) const {
  return null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<UtcTime> Row::optional_time(std::string_view column) const {
  return null(column) ? std::nullopt : parse_datetime(text(column));
}

}  // namespace store
