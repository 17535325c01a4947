// Reads or changes many rows by key, or inserts many, in few statements. Use this, not JSON_TABLE, for SELECT
// … FOR UPDATE: MySQL refuses to lock a join with JSON_TABLE (error 3569, seen on 9.7).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/session/keys.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// Returns the rows of `before (item, item, …) after` for all `values`, in chunks of at most 512; `item` is
/// SQL text with one `?`. Lists are padded to a power of two, so that few statements are prepared.
Rows query_list(Session& session, std::string_view before, std::string_view item,
                std::span<const Parameter> values, std::string_view after);

/// Like query_list, with ids as the values and `?` as the item. query_ids returns rows; update_ids changes
/// rows and returns how many it changed.
Rows query_ids(Session& session, std::string_view before, const Keys& ids, std::string_view after);
std::uint64_t update_ids(Session& session, std::string_view before, const Keys& ids, std::string_view after);

/// Inserts the rows of `before item, item, …` in one statement; `item` is SQL text with a `?` for each
/// parameter of a row. Use this for tables with AUTO_INCREMENT: with INSERT … SELECT, MariaDB locks the
/// AUTO_INCREMENT until the statement ends. Another session that inserts in that time gets error 1467 if it
/// does not wait for locks (innodb_lock_wait_timeout = 0).
void insert_rows(Session& session, std::string_view before, std::string_view item,
                 std::span<const Parameter> values);
/// Appends the parameters of one row.
template <class... P>
void append_row(std::vector<Parameter>& rows, P&&... parameters) {
  (rows.emplace_back(std::forward<P>(parameters)), ...);
}
/// Splits the parameters of rows into chunks of 128, 64, 32 … rows, so that insert_rows prepares few
/// statements.
std::vector<std::span<const Parameter>> chunks_of_rows(std::string_view item,
                                                       std::span<const Parameter> values);

/// Changes or inserts the rows of `before item, item, … after`, in chunks of at most 32 rows. `item` is SQL
/// text with a `?` for each parameter of a row. Repeats the last row of a chunk until the number of its rows
/// is a power of two, so `after` must be an ON DUPLICATE KEY UPDATE that may be applied several times.
void upsert_rows(Session& session, std::string_view before, std::string_view item,
                 std::span<const Parameter> values, std::string_view after);

}  // namespace store
