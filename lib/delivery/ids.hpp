// Ids of lib/webhook, in this library's namespace.
#pragma once

#include "lib/webhook/ids.hpp"

namespace delivery {

using webhook::DeliveryId;
using webhook::EntityId;
using webhook::NotificationId;
using webhook::WebhookId;

}  // namespace delivery
