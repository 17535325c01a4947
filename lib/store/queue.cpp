#include "store/queue.hpp"

namespace store {

QueueStatus queue_status(Session& session) {
  const auto rows = session.query(
      "SELECT (SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'pendiente'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'pendiente'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'en_curso'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'retenida'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'fallida'),"
      " (SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'rechazada'),"
      " GREATEST(0, TIMESTAMPDIFF(SECOND, LEAST("
      "  COALESCE((SELECT MIN(n.ocurrida_en) FROM notificaciones_pendientes n JOIN (SELECT MIN(id) AS id"
      "   FROM notificaciones_pendientes WHERE estado = 'pendiente' GROUP BY entidad_id) oldest ON oldest.id "
      "= n.id), '9999-12-31'),"
      "  COALESCE((SELECT MIN(due) FROM (SELECT MIN(proximo_intento) AS due FROM entregas WHERE estado = "
      "'pendiente'"
      "   GROUP BY webhook_id) oldest), '9999-12-31')), UTC_TIMESTAMP(3))),"
      " (SELECT pausada FROM control_envio WHERE id = 1)");
  const auto& row = rows.at(0);
  return {row.integer(0), row.integer(1), row.integer(2), row.integer(3),
          row.integer(4), row.integer(5), row.integer(6), row.boolean(7)};
}

bool set_paused(Session& session, bool paused) {
  return session.update(
             "UPDATE control_envio SET pausada = ?, desde = IF(?, UTC_TIMESTAMP(3), NULL) WHERE id = 1 AND "
             "pausada <> ?",
             paused, paused, paused) == 1;
}

bool is_paused(Session& session) {
  return session.query("SELECT pausada FROM control_envio WHERE id = 1").at(0).boolean(0);
}

}  // namespace store
