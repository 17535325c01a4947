// The final state of a cancelled delivery, for the statements that cancel deliveries.
#pragma once

#include <string>
#include <string_view>

namespace store {

/// SQL assignments to rows of `entregas`; `ultimo_error` becomes `error` (SQL). A delivery with a 2xx ends as
/// delivered, because only its replay is cancelled, and a CHECK allows it no error.
inline std::string ends_cancelled(std::string_view error = "ultimo_error") {
  return std::string("estado = IF(entregada_en IS NULL, 'cancelada', 'entregada'), ultimo_error = ")
      .append("IF(entregada_en IS NULL, ")
      .append(error)
      .append(", ''), terminada_en = UTC_TIMESTAMP(3)");
}

}  // namespace store
