// What a query finds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/clock.hpp"

namespace store {

using platform::UtcTime;

/// The columns of a result, as its SELECT calls them, in order.
using ColumnNames = std::vector<std::string>;

/// A row of a result, copied out. All throw std::runtime_error for a name that the result does not have, and
/// those that give a value for NULL: a statement that does not match its reader. Of columns of one name the
/// first is read.
class Row {
 public:
  using Cell = std::optional<std::string>;  // none: NULL
  Row(std::shared_ptr<const ColumnNames> names, std::vector<Cell> cells)
      : names_(std::move(names)), cells_(std::move(cells)) {}

  bool null(std::string_view column) const { return !cell(column).has_value(); }
  const std::string& text(std::string_view column) const;
  std::int64_t integer(std::string_view column) const;
  std::uint64_t unsigned_integer(std::string_view column) const;
  bool boolean(std::string_view column) const { return integer(column) != 0; }
  /// Of a DATETIME(3) selected with CAST(… AS CHAR).
  UtcTime time(std::string_view column) const;
  std::optional<std::string> optional_text(std::string_view column) const { return cell(column); }
  std::optional<std::int64_t> optional_integer(std::string_view column) const;
  /// None also of a date that is not in the calendar.
  std::optional<UtcTime> optional_time(std::string_view column) const;

 private:
  const Cell& cell(std::string_view column) const;

  std::shared_ptr<const ColumnNames> names_;  // of all rows of a result
  std::vector<Cell> cells_;
};
using Rows = std::vector<Row>;

}  // namespace store
