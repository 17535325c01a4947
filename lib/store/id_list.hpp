// Locking many rows by key. Not through JSON_TABLE: MySQL refuses to lock a join with it (error 3569, seen
// on 9.7).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "store/session.hpp"

namespace store {

/// The rows of `before (?, ?, …) after` for all of `ids`, in chunks of at most 512. Lists are padded to a
/// power of two, so that few statements are ever prepared and each is a seek by key.
Rows query_ids(Session& session, std::string_view before, const std::vector<std::int64_t>& ids,
               std::string_view after);

}  // namespace store
