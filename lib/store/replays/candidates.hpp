// The condition for the deliveries of a replay, shared by the statements that count and that choose them.
#pragma once

#include <string>
#include <string_view>

namespace store {

/// A condition on `e` (entregas) and `n` (notificaciones_pendientes). It has six parameters: failed,
/// delivered, since, until, events, and events again. A delivery with a 2xx counts as delivered, whatever the
/// result of a later replay.
inline constexpr std::string_view fits_replay = R"sql(
  ((? AND e.estado = 'fallida' AND e.entregada_en IS NULL)
    OR (? AND (e.estado = 'entregada' OR (e.estado = 'fallida' AND e.entregada_en IS NOT NULL))))
  AND e.creada_en >= ? AND e.creada_en < COALESCE(CAST(? AS DATETIME(3)), UTC_TIMESTAMP(3) + INTERVAL 1000 MICROSECOND) AND n.origen = 'evaluacion' AND n.estado <> 'cancelada'
  AND (n.caduca_en IS NULL OR n.caduca_en > UTC_TIMESTAMP(3))
  AND (? IS NULL OR FIND_IN_SET(n.evento, ?)))sql";

/// Returns `before`, the condition, and `after`.
inline std::string with_fits_replay(std::string_view before, std::string_view after) {
  return std::string(before).append(fits_replay).append(after);
}

}  // namespace store
