// Notifications that the database refuses for their content, put aside (docs/delivery.md#bad-rows). Table
// `notificaciones_apartadas`: those of which it refuses even that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// For `error`: in Spanish, at most 500 bytes.
std::string refusal_text(const Refused& refusal);

/// pendiente -> rechazada, whether or not the row violates a CHECK. False: it is not pendiente.
bool reject_notification(Session& session, NotificationId id, std::string_view reason);

enum class PutAside {
  rejected,     // the row is rechazada
  quarantined,  // it could not be changed: it is in the list
  no,           // it is not pendiente, or somebody holds it
};
/// A transaction of its own. What is in the list is left by take_pending, and counts and shows as rechazada.
/// Waits for no lock on the notification.
PutAside put_aside(Session& session, NotificationId id, std::string_view reason);

/// For the operator, within a transaction that has locked the notification, which is pendiente in its table.
/// -> cancelada: its row, with the reason if there is one, or where that is refused in the list.
void cancel_pending(Session& session, NotificationId id, const std::optional<std::string>& reason);
/// Takes it out of the list: it is tried again.
void end_quarantine(Session& session, NotificationId id);

}  // namespace store
