// A webhook's number among the webhooks of its entity: column `plaza` of `webhooks`, 1 to
// max_webhooks_per_entity, NULL once the webhook is deleted. The index on entity and `plaza` finds the
// webhooks of an entity without its deleted ones.
#pragma once

#include <string_view>

#include "lib/webhook/limits.hpp"

namespace store {

// A change of the limit must change these texts, and the CHECK of the schema.
static_assert(webhook::max_webhooks_per_entity == 5);

/// For reads: one range of the index.
inline constexpr std::string_view slot_in_range = " BETWEEN 1 AND 5 ";
/// For locking reads, one `plaza` at a time: a locking read of the range would also wait for a lock on the
/// next entity's row.
inline constexpr std::string_view slot_by_slot = " IN (1, 2, 3, 4, 5) ";
/// A table with one row for each value of `plaza`, for a join that seeks value by value.
inline constexpr std::string_view every_slot =
    " JSON_TABLE('[1,2,3,4,5]', '$[*]' COLUMNS (plaza TINYINT PATH '$')) ";

}  // namespace store
