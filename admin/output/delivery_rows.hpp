// A delivery and its attempts as members of a result.
#pragma once

#include "lib/json/json.hpp"
#include "lib/store/deliveries/deliveries.hpp"

namespace admin {

json::Object to_row(const store::Delivery& delivery);
json::Object to_row(const store::RecordedAttempt& attempt);

}  // namespace admin
