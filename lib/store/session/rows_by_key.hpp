// Reads or changes many rows by key in one statement. Use this, not JSON_TABLE, for SELECT … FOR UPDATE:
// MySQL refuses to lock a join with JSON_TABLE (error 3569, seen on 9.7).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/store/session/keys.hpp"
#include "lib/store/session/session.hpp"

namespace store {

/// Returns the rows of `before (item, item, …) after` for all `values`, in chunks of at most 512; `item` is
/// SQL text with one `?`. Lists are padded to a power of two, so that few statements are prepared.
Rows query_list(Session& session, std::string_view before, std::string_view item,
                std::span<const Parameter> values, std::string_view after);

/// As query_list, for ids with `?` as the item; update_ids changes rows and returns how many it changed.
Rows query_ids(Session& session, std::string_view before, const Keys& ids, std::string_view after);
std::uint64_t update_ids(Session& session, std::string_view before, const Keys& ids, std::string_view after);

/// Changes or inserts the rows of `before item, item, … after`, in chunks of at most 32; `item` is SQL text
/// with `width` times `?`, the parameters of one row. The last row is repeated up to a power of two:
/// `after` must be an ON DUPLICATE KEY UPDATE that may be applied twice.
void upsert_rows(Session& session, std::string_view before, std::string_view item, std::size_t width,
                 std::span<const Parameter> values, std::string_view after);

}  // namespace store
