// The results of a query.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/platform/clock.hpp"

namespace store {

using platform::UtcTime;

/// A copy of all rows that a query found. The cells share one string, so a page of rows needs few
/// allocations.
class Result {
 public:
  /// `columns`: the names that the SELECT gives, in order.
  explicit Result(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  void reserve(std::size_t rows) { cells_.reserve(rows * columns_.size()); }
  // Appends the next cell: NULL, a number, or a text.
  void append(std::nullopt_t) { cells_.emplace_back(); }
  void append(std::int64_t number) { cells_.emplace_back(number); }
  void append(std::string_view text);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return cells_.size() / columns_.size(); }

  using Cell = std::variant<std::monostate, std::int64_t, std::string_view>;
  Cell cell(std::size_t row, std::size_t column) const;

 private:
  struct Place {
    std::size_t begin;
    std::size_t length;
  };
  std::vector<std::string> columns_;
  std::string text_;
  std::vector<std::variant<std::monostate, std::int64_t, Place>> cells_;
};

/// A row, which keeps its result alive. Accessors throw std::runtime_error for a column that the result
/// lacks, and for a value that they cannot convert. text() can convert a number; the accessors of numbers can
/// convert a text that holds a number. For NULL, all but null() and optional_… throw. If several columns
/// have the same name, any of them may be read.
class Row {
 public:
  Row(std::shared_ptr<const Result> result, std::size_t number)
      : result_(std::move(result)), number_(number) {}

  bool null(std::string_view column) const { return std::holds_alternative<std::monostate>(cell(column)); }
  std::string text(std::string_view column) const;
  std::int64_t integer(std::string_view column) const;
  std::uint64_t unsigned_integer(std::string_view column) const;
  bool boolean(std::string_view column) const { return integer(column) != 0; }
  /// Reads a DATETIME(3) selected with CAST(… AS CHAR). A date that the calendar lacks (0000-00-00, written
  /// by hand) reads as 1970, so that one bad row ends no task.
  UtcTime time(std::string_view column) const;
  /// Reads a DATETIME(3) selected with TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', …), which
  /// is cheaper for statements with many rows.
  UtcTime unix_time(std::string_view column) const;
  std::optional<std::string> optional_text(std::string_view column) const;
  std::optional<std::int64_t> optional_integer(std::string_view column) const;
  /// Returns nullopt also for a date that is not in the calendar.
  std::optional<UtcTime> optional_time(std::string_view column) const;
  std::optional<UtcTime> optional_unix_time(std::string_view column) const;

 private:
  Result::Cell cell(std::string_view column) const;
  Result::Cell value(std::string_view column) const;

  std::shared_ptr<const Result> result_;  // shared by its rows
  std::size_t number_;
  mutable std::size_t expected_ = 0;  // the column after the last one read, usually the next to be read
};
using Rows = std::vector<Row>;

}  // namespace store
