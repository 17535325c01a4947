// Checks the `data` of an event against the table of docs/events.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/webhook/event.hpp"

namespace webhook {

/// nullopt when `json` is an object with every field of the event's table, of its type; unknown extra fields
/// are fine. Otherwise the reason, a Spanish sentence that names the field (`datos.evaluacionId: falta`, …),
/// at most 500 characters. Types (docs/events.md): int is a 64-bit integer without fraction or exponent;
/// number any JSON number; a date is a real calendar day `YYYY-MM-DD`; a date-time
/// `YYYY-MM-DDThh:mm:ss[.fraction]Z`; fechaFin of alegaciones.periodo_abierto either.
std::optional<std::string> check_event_data(Event event, std::string_view json);

}  // namespace webhook
