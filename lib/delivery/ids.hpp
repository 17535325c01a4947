// The keys of the tables, by the name of this library.
#pragma once

#include "lib/webhook/ids.hpp"

namespace delivery {

using webhook::DeliveryId;
using webhook::EntityId;
using webhook::NotificationId;
using webhook::WebhookId;

}  // namespace delivery
