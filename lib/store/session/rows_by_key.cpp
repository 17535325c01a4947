#include "lib/store/session/rows_by_key.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

namespace store {

namespace {

constexpr std::size_t longest_list = 512;

constexpr std::size_t longest_insert = 128;

constexpr std::size_t rows_of_upsert = 32;

std::string repeated(std::string_view item, std::size_t times) {
  std::string sql;
  for (std::size_t i = 0; i < times; ++i) {
    if (i > 0) sql += ',';
    sql += item;
  }
  return sql;
}

/// The number of parameters of a row.
std::size_t width_of(std::string_view item) {
  return static_cast<std::size_t>(std::ranges::count(item, '?'));
}

std::string list_sql(std::string_view before, std::string_view item, std::size_t length,
                     std::string_view after) {
  std::string sql(before);
  sql += " (";
  sql += repeated(item, length);
  sql += ") ";
  sql += after;
  return sql;
}

/// Calls `run` with the statement and the parameters of each chunk of `values`.
template <class Run>
void for_each_chunk(std::string_view before, std::string_view item, std::span<const Parameter> values,
                    std::string_view after, Run&& run) {
  for (std::size_t first = 0; first < values.size(); first += longest_list) {
    const auto chunk = values.subspan(first, std::min(longest_list, values.size() - first));
    std::vector<Parameter> parameters(chunk.begin(), chunk.end());
    parameters.resize(std::bit_ceil(chunk.size()), chunk.back());
    run(list_sql(before, item, parameters.size(), after), parameters);
  }
}

}  // namespace

Rows query_list(Session& session, std::string_view before, std::string_view item,
                std::span<const Parameter> values, std::string_view after) {
  Rows result;
  for_each_chunk(before, item, values, after,
                 [&](const std::string& sql, const std::vector<Parameter>& parameters) {
                   std::ranges::move(session.run_query(sql, parameters), std::back_inserter(result));
                 });
  return result;
}

Rows query_ids(Session& session, std::string_view before, const Keys& ids, std::string_view after) {
  const std::vector<Parameter> values(ids.begin(), ids.end());
  return query_list(session, before, "?", values, after);
}

std::uint64_t update_ids(Session& session, std::string_view before, const Keys& ids, std::string_view after) {
  const std::vector<Parameter> values(ids.begin(), ids.end());
  std::uint64_t changed = 0;
  for_each_chunk(before, "?", values, after,
                 [&](const std::string& sql, const std::vector<Parameter>& parameters) {
                   changed += session.run_update(sql, parameters);
                 });
  return changed;
}

void insert_rows(Session& session, std::string_view before, std::string_view item,
                 std::span<const Parameter> values) {
  std::string sql(before);
  sql += ' ';
  sql += repeated(item, values.size() / width_of(item));
  session.run_update(sql, {values.begin(), values.end()});
}

std::vector<std::span<const Parameter>> chunks_of_rows(std::string_view item,
                                                       std::span<const Parameter> values) {
  const auto width = width_of(item);
  if (values.size() % width != 0) throw std::logic_error("the parameters are not those of whole rows");
  std::vector<std::span<const Parameter>> chunks;
  while (!values.empty()) {
    const auto rows = std::min(std::bit_floor(values.size() / width), longest_insert);
    chunks.push_back(values.first(rows * width));
    values = values.subspan(rows * width);
  }
  return chunks;
}

void upsert_rows(Session& session, std::string_view before, std::string_view item,
                 std::span<const Parameter> values, std::string_view after) {
  const auto width = width_of(item);
  for (std::size_t first = 0; first < values.size(); first += rows_of_upsert * width) {
    const auto chunk = values.subspan(first, std::min(rows_of_upsert * width, values.size() - first));
    std::vector<Parameter> parameters(chunk.begin(), chunk.end());
    const std::size_t rows = std::bit_ceil(chunk.size() / width);
    while (parameters.size() < rows * width) parameters.push_back(parameters[parameters.size() - width]);
    std::string sql(before);
    sql += ' ';
    sql += repeated(item, rows);
    sql += ' ';
    sql += after;
    session.run_update(sql, parameters);
  }
}

}  // namespace store
