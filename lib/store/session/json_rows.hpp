// Passes many rows in one parameter: a JSON array that the statement reads with JSON_TABLE (MariaDB 10.6,
// MySQL 8), so a statement is prepared once for any batch size. The statement must name JSON_TABLE
// first, then STRAIGHT_JOIN, then the table that it changes, with FORCE INDEX (PRIMARY). Otherwise MariaDB
// reads all rows of a small table, and waits for those that other sessions have locked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/json/json.hpp"
#include "lib/store/session/keys.hpp"

namespace store {

/// Returns `[1,2,3]`, for `JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$'))`.
inline std::string json_ids(const Keys& ids) { return json::dump(json::Array(ids.begin(), ids.end())); }

}  // namespace store
