// A row of `entregas` as the lists of the API show it.
#pragma once

#include <string_view>

#include "lib/store/deliveries/delivery_log.hpp"
#include "lib/store/session/row.hpp"

namespace store {

/// The columns that read_logged() reads, without `evento` and `prueba`; `e` is `entregas`.
inline constexpr std::string_view logged_columns = R"sql(
    e.id, e.estado, e.intentos, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.creada_en) AS creada_en,
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.entregada_en) AS entregada_en,
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.terminada_en) AS terminada_en,
    IF(e.estado = 'pendiente', TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.proximo_intento), NULL)
      AS proximo_intento, e.ultimo_estado, e.ultimo_error)sql";

/// A delivery with a 2xx counts as delivered, whatever the result of a replay.
LoggedDelivery read_logged(const Row& row);

}  // namespace store
