// SQL: what a delivery's row becomes when it is due once more.
#pragma once

#include <string_view>

#include "lib/store/session/sql_text.hpp"

namespace store {

/// Assignments to `entregas e`: due now, and the retry schedule from its start.
inline constexpr std::string_view due_anew =
    "e.paso = 0, e.adelantada = FALSE, e.prevista = NULL, e.no_antes = NULL, e.proximo_intento = "
    "UTC_TIMESTAMP(3)";
/// Further assignments for a replay: marked as replayed, and not ended.
inline constexpr std::string_view and_replayed = ", e.reenviada = TRUE, e.terminada_en = NULL";
inline constexpr std::string_view due_as_replay = joined<due_anew, and_replayed>;
/// Keeps the first 2xx of a replayed delivery on record. Belongs before the assignments of `estado` and
/// `terminada_en`, because it reads their old values, and MariaDB and MySQL assign from left to right, also
/// in the UPDATE of a join (tested).
inline constexpr std::string_view keep_first_success =
    "e.entregada_en = COALESCE(e.entregada_en, IF(e.estado = 'entregada', e.terminada_en, NULL)), ";

}  // namespace store
