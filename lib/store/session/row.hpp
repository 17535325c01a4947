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

  // Columns by position, from 0.
  bool null(std::size_t column) const { return !cells_.at(column).has_value(); }
  const std::string& text(std::size_t column) const;
  std::int64_t integer(std::size_t column) const;
  std::uint64_t unsigned_integer(std::size_t column) const;
  bool boolean(std::size_t column) const { return integer(column) != 0; }
  UtcTime time(std::size_t column) const;  ///< of a column selected through STORE_EPOCH_MS
  std::optional<std::string> optional_text(std::size_t column) const { return cells_.at(column); }
  std::optional<std::int64_t> optional_integer(std::size_t column) const;
  std::optional<UtcTime> optional_time(std::size_t column) const;

 private:
  const Cell& cell(std::string_view column) const;

  std::shared_ptr<const ColumnNames> names_;  // of all rows of a result
  std::vector<Cell> cells_;
};
using Rows = std::vector<Row>;

}  // namespace store

/// SQL text of a DATETIME(3) as milliseconds since 1970, for Row::time by position. UNIX_TIMESTAMP would end
/// in 2038 on MariaDB. A literal of its type: a text would be read as a date again for every row.
#define STORE_EPOCH_MS(column) \
  "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', " column ") DIV 1000"
