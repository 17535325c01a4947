// Which notifications are sent no more, and the final state of their deliveries.
#pragma once

#include <string>
#include <string_view>

namespace store {

/// The error of a delivery whose notification the operator or its writer has called off, as SQL.
inline constexpr std::string_view called_off = "'La notificación ha sido anulada'";

inline constexpr std::string_view expired = "'La notificación ha caducado'";  // as in the view

/// True if no attempt is made any more of the notification `n`: it is called off or has expired. As SQL.
inline constexpr std::string_view sent_no_more =
    "COALESCE(n.estado = 'cancelada' OR n.caduca_en <= UTC_TIMESTAMP(3), FALSE)";

/// Returns the SQL assignments that make a row of `entregas` cancelada. `error` is the SQL expression of the
/// row's new `ultimo_error`. A delivery that had a 2xx becomes entregada instead, because only its replay is
/// cancelled; its error becomes empty, because a CHECK allows no error with entregada.
inline std::string ends_cancelled(std::string_view error = "ultimo_error") {
  return std::string("estado = IF(entregada_en IS NULL, 'cancelada', 'entregada'), ultimo_error = ")
      .append("IF(entregada_en IS NULL, ")
      .append(error)
      .append(", ''), terminada_en = UTC_TIMESTAMP(3)");
}

}  // namespace store
