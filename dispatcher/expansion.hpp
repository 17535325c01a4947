// Which deliveries a notification becomes. Pure: what was read goes in, what is to be written comes out.
#pragma once

#include <map>
#include <vector>

#include "slots.hpp"
#include "store/expansion.hpp"

namespace dispatcher {

/// Checks each notification and gives it one delivery per subscribed webhook: born leased while `slots` has
/// room and nothing older of the webhook waits, held when the webhook is inactive, pending otherwise. What
/// cannot be delivered is rejected with a Spanish reason that names the field. `slots` is a copy, so that a
/// transaction run again plans again from the start.
store::Expansion plan_expansion(const std::vector<store::PendingNotification>& notifications,
                                const std::map<store::EntityId, store::Recipient>& recipients, Slots slots);

}  // namespace dispatcher
