// The ids of rows, with a type for each table.
#pragma once

#include "lib/platform/id.hpp"

namespace webhook {

using EntityId = platform::Id<struct EntityTag>;
using WebhookId = platform::Id<struct WebhookTag>;
using NoticeId = platform::Id<struct NoticeTag>;
using NotificationId = platform::Id<struct NotificationTag>;
using DeliveryId = platform::Id<struct DeliveryTag>;
using TokenId = platform::Id<struct TokenTag>;
using ReplayId = platform::Id<struct ReplayTag>;
using OutageId = platform::Id<struct OutageTag>;
using AuditId = platform::Id<struct AuditTag>;
using ContactId = platform::Id<struct ContactTag>;

}  // namespace webhook
