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

/// Everything that a query found, copied out, cell by cell and row by row. The cells share one string: a page
/// of rows costs a few allocations, not one for each cell.
class Result {
 public:
  /// The columns, as the SELECT calls them, in order.
  explicit Result(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  void reserve(std::size_t rows) { cells_.reserve(rows * columns_.size()); }
  /// The next cell; nullopt: NULL.
  void append(std::optional<std::string_view> value);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return cells_.size() / columns_.size(); }
  std::optional<std::string_view> cell(std::size_t row, std::size_t column) const;

 private:
  struct Cell {
    std::size_t begin;
    std::size_t length;  // npos: NULL
  };
  std::vector<std::string> columns_;
  std::string text_;
  std::vector<Cell> cells_;
};

/// A row of a result, which it keeps. All throw std::runtime_error for a name that the result does not have,
/// and those that give a value for NULL: a statement that does not match its reader. Of columns of one name
/// the first is read.
class Row {
 public:
  Row(std::shared_ptr<const Result> result, std::size_t number)
      : result_(std::move(result)), number_(number) {}

  bool null(std::string_view column) const { return !cell(column).has_value(); }
  std::string text(std::string_view column) const { return std::string(value(column)); }
  std::int64_t integer(std::string_view column) const;
  std::uint64_t unsigned_integer(std::string_view column) const;
  bool boolean(std::string_view column) const { return integer(column) != 0; }
  /// Of a DATETIME(3) selected with CAST(… AS CHAR).
  UtcTime time(std::string_view column) const;
  std::optional<std::string> optional_text(std::string_view column) const;
  std::optional<std::int64_t> optional_integer(std::string_view column) const;
  /// None also of a date that is not in the calendar.
  std::optional<UtcTime> optional_time(std::string_view column) const;

 private:
  std::optional<std::string_view> cell(std::string_view column) const;
  std::string_view value(std::string_view column) const;

  std::shared_ptr<const Result> result_;  // of all its rows
  std::size_t number_;
};
using Rows = std::vector<Row>;

}  // namespace store
