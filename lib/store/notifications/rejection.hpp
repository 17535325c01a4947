// Rejects notifications that the database refuses for their content (docs/delivery.md#bad-rows).
#pragma once

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

/// Like reject_notification, in a transaction of its own. Also returns false when the row is locked. Waits
/// for no lock on the row.
bool reject_if_free(Session& session, NotificationId id, std::string_view reason);

}  // namespace store
