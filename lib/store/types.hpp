// Types shared by the folders of the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/platform/clock.hpp"
#include "lib/webhook/ids.hpp"

namespace store {

using webhook::AuditId;
using webhook::ContactId;
using webhook::DeliveryId;
using webhook::EntityId;
using webhook::NoticeId;
using webhook::NotificationId;
using webhook::OutageId;
using webhook::ReplayId;
using webhook::TokenId;
using webhook::WebhookId;

/// The most bytes of data that `notificaciones_pendientes` accepts from the evaluation system
/// (docs/table.md). Longer data can be in the table only if it was written without the CHECK; it is never
/// sent. The sealed data of a test event may be longer.
inline constexpr std::uint64_t longest_data = 65'536;

/// Identifies a notification, and the entity that it is for.
struct NotificationKey {
  NotificationId id;
  EntityId entity;
};

/// The filter of the operator's lists; unset fields match everything. A `state` that the list does not have
/// matches nothing.
struct ListFilter {
  std::optional<EntityId> entity;
  std::optional<WebhookId> webhook;
  std::optional<NotificationId> notification;  // for deliveries only
  std::optional<std::string> state;
  /// Leaves out rows from before this time. The time of a row is its creation; for a notification, its
  /// occurrence (`ocurrida_en`); for an audit entry, its latest occurrence.
  std::optional<platform::UtcTime> since;
  unsigned limit = 100;  // number of rows: the newest, listed oldest first
};

}  // namespace store
