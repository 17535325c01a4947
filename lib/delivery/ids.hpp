// The primary keys of the tables.
#pragma once

#include <cstdint>

namespace delivery {

using EntityId = std::int64_t;
using WebhookId = std::int64_t;
using NotificationId = std::int64_t;
using DeliveryId = std::int64_t;

}  // namespace delivery
