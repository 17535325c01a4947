// Many rows in one parameter: a JSON array that the statement reads with JSON_TABLE (MariaDB 10.6, MySQL 8),
// so a statement is prepared once whatever the size of its batch. Join it first with STRAIGHT_JOIN, and what
// is changed with FORCE INDEX (PRIMARY): of a few rows MariaDB would read all, and wait for those that
// somebody holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/json/json.hpp"

namespace store {

/// `[1,2,3]`, for `JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$'))`.
inline std::string json_ids(const std::vector<std::int64_t>& ids) {
  return json::dump(json::Array(ids.begin(), ids.end()));
}

}  // namespace store
