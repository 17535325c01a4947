// Checks the `data` of an event against the table of docs/events.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/webhook/event.hpp"

namespace webhook {

/// The most levels of lists and objects. MariaDB's JSON_VALID accepts no more, and so its CHECK would refuse
/// every later change of the row.
inline constexpr unsigned max_data_depth = 31;

/// Returns nullopt when `json` is an object of at most max_data_depth levels that has every field of the
/// event, with the right type; further fields are allowed. Otherwise returns the reason, a Spanish sentence
/// of at most 500 characters that names the field (`datos.evaluacionId: falta`, …). Types: int is a 64-bit
/// integer without fraction or exponent; number is any JSON number; a date is an existing day `YYYY-MM-DD`; a
/// date-time is `YYYY-MM-DDThh:mm:ss[.fraction]Z`; fechaFin of alegaciones.periodo_abierto is a date or a
/// date-time.
std::optional<std::string> check_event_data(Event event, std::string_view json);

}  // namespace webhook
