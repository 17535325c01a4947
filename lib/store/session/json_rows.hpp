// Many rows in one parameter: a JSON array that the statement reads with JSON_TABLE (MariaDB 10.6, MySQL 8),
// so a statement is prepared once whatever the size of its batch. Join it first with STRAIGHT_JOIN, and what
// is changed with FORCE INDEX (PRIMARY): of a few rows MariaDB would read all, and wait for those that
// somebody holds.
#pragma once

#include "webhook/json.hpp"

/// SQL text: a table of one column `id` from a parameter `[1,2,3]`.
#define STORE_JSON_IDS "JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$'))"
