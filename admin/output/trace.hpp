// Shows a recorded attempt of a webhook as `webhook trace` prints it. Pure.
#pragma once

#include <string>

#include "lib/json/json.hpp"
#include "lib/store/deliveries/deliveries.hpp"

namespace admin {

/// The request's headers are composed anew from what is recorded, as the dispatcher composes them, but
/// without signatures: firmas is their number.
json::Object traced_row(const store::AttemptOfDelivery& traced);
/// The attempt on one line, and its headers on another.
std::string traced_text(const store::AttemptOfDelivery& traced);

}  // namespace admin
