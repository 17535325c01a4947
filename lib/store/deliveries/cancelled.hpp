// How a delivery ends that is no longer to be sent, for the statements that cancel some.
#pragma once

#include <string>
#include <string_view>

namespace store {

/// Assignments to rows of `entregas`, whose `ultimo_error` becomes `error` (SQL). What was delivered once
/// stays so: it is only a replay that is cancelled. A CHECK wants no error of such a one.
inline std::string ends_cancelled(std::string_view error = "ultimo_error") {
  return std::string("estado = IF(entregada_en IS NULL, 'cancelada', 'entregada'), ultimo_error = ")
      .append("IF(entregada_en IS NULL, ")
      .append(error)
      .append(", ''), terminada_en = UTC_TIMESTAMP(3)");
}

}  // namespace store
