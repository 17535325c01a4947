// Rejects notifications that the database refuses for their content, and quarantines a notification if the
// database refuses even its rejection (docs/delivery.md#bad-rows). Table `notificaciones_apartadas` is the
// quarantine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Returns the text for the column `error`, in Spanish, at most 500 bytes.
std::string refusal_text(const Refused& refusal);

/// Changes pendiente to rechazada, even if the row violates a CHECK. Returns false when the row is not
/// pendiente.
bool reject_notification(Session& session, NotificationId id, std::string_view reason);

enum class Rejection {
  rejected,     // the row is rechazada
  quarantined,  // the row could not be changed, so the notification is in the quarantine
  no,           // the row is not pendiente, or is locked
};
/// Rejects the notification, or else quarantines it, in a transaction of its own. The fan-out of this
/// release skips quarantined notifications, and they count and show as rechazada. Waits for no lock on the
/// notification.
Rejection reject_or_quarantine(Session& session, NotificationId id, std::string_view reason);

/// Cancels a notification for the operator. Requires a transaction that has locked its pendiente row. Sets
/// the row to cancelada, with the reason if there is one; if the database refuses that, lists the
/// notification as cancelada in the quarantine.
void cancel_pending(Session& session, NotificationId id, const std::optional<std::string>& reason);
/// Removes the notification from the quarantine; if it is pendiente, the fan-out tries it again.
void end_quarantine(Session& session, NotificationId id);

}  // namespace store
