// Names shared by the stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace store {

using delivery::DeliveryId;
using delivery::EntityId;
using delivery::NotificationId;
using delivery::WebhookId;
using TokenId = std::int64_t;

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
