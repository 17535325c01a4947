#include "store/id_list.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

namespace store {

namespace {

constexpr std::size_t longest_list = 512;

std::string list_sql(std::string_view before, std::size_t length, std::string_view after) {
  std::string sql(before);
  sql += " (?";
  for (std::size_t i = 1; i < length; ++i) sql += ",?";
  sql += ") ";
  sql += after;
  return sql;
}

}  // namespace

Rows query_ids(Session& session, std::string_view before, const std::vector<std::int64_t>& ids,
               std::string_view after) {
  Rows result;
  for (std::size_t first = 0; first < ids.size(); first += longest_list) {
    const std::size_t count = std::min(longest_list, ids.size() - first);
    const std::size_t length = std::bit_ceil(count);
    std::vector<Parameter> parameters;
    parameters.reserve(length);
    for (std::size_t i = 0; i < length; ++i) parameters.emplace_back(ids[first + std::min(i, count - 1)]);
    auto rows = session.run_query(list_sql(before, length, after), parameters);
    result.insert(result.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
  return result;
}

}  // namespace store
