// The ids of rows, with a type for each table.
#pragma once

#include "lib/platform/id.hpp"

namespace webhook {

using EntityId = platform::Id<struct EntityKey>;
using WebhookId = platform::Id<struct WebhookKey>;
using NotificationId = platform::Id<struct NotificationKey>;
using DeliveryId = platform::Id<struct DeliveryKey>;
using TokenId = platform::Id<struct TokenKey>;
using ReplayId = platform::Id<struct ReplayKey>;
using OutageId = platform::Id<struct OutageKey>;
using AuditId = platform::Id<struct AuditKey>;

}  // namespace webhook
