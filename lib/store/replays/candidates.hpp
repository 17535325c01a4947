// Which deliveries a replay is of, for the statements that count them and that hand them to the schedule.
#pragma once

#include <string>
#include <string_view>

namespace store {

/// Of `e` (entregas) and `n` (notificaciones_pendientes); its parameters are failed, delivered, since, until,
/// events, events. What was delivered once counts as delivered, whatever a replay has come to since.
inline constexpr std::string_view fits_replay = R"sql(
  ((? AND e.estado = 'fallida' AND e.entregada_en IS NULL)
    OR (? AND (e.estado = 'entregada' OR (e.estado = 'fallida' AND e.entregada_en IS NOT NULL))))
  AND e.creada_en >= ? AND e.creada_en < COALESCE(CAST(? AS DATETIME(3)), UTC_TIMESTAMP(3) + INTERVAL 1000 MICROSECOND) AND n.origen = 'evaluacion' AND n.estado <> 'cancelada'
  AND (? IS NULL OR FIND_IN_SET(n.evento, ?)))sql";

/// `before` such a condition `after`.
inline std::string with_fits_replay(std::string_view before, std::string_view after) {
  return std::string(before).append(fits_replay).append(after);
}

}  // namespace store
