// Names shared by the stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/clock.hpp"

namespace store {

using EntityId = std::int64_t;
using TokenId = std::int64_t;
using WebhookId = std::int64_t;
using NotificationId = std::int64_t;
using DeliveryId = std::int64_t;

/// What the operator's lists are narrowed by; unset fields do not narrow. `state` must be one of the list's
/// own, else nothing matches.
struct ListFilter {
  std::optional<EntityId> entity;
  std::optional<WebhookId> webhook;
  std::optional<NotificationId> notification;  // of deliveries alone
  std::optional<std::string> state;
  std::optional<platform::UtcTime> since;  // of the creation, inclusive
  unsigned limit = 100;                    // the newest so many, shown oldest first
};

}  // namespace store
