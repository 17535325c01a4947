// Slots: column `plaza` of `webhooks`, 1 to max_webhooks_per_entity, none of one that is deleted. The index
// on entity and slot is how the webhooks of an entity are found without those that it has deleted.
#pragma once

#include <string_view>

#include "lib/webhook/limits.hpp"

namespace store {

// Who changes the limit changes these, and the CHECK of the schema.
static_assert(webhook::max_webhooks_per_entity == 5);

/// Of reads: one range of the index.
inline constexpr std::string_view slot_in_range = " BETWEEN 1 AND 5 ";
/// Of locking reads, slot by slot: at the end of a range they would wait for who has locked the next
/// entity's.
inline constexpr std::string_view slot_by_slot = " IN (1, 2, 3, 4, 5) ";
/// To seek from each row of another table: column `plaza`, a row for each.
inline constexpr std::string_view every_slot =
    " JSON_TABLE('[1,2,3,4,5]', '$[*]' COLUMNS (plaza TINYINT PATH '$')) ";

}  // namespace store
