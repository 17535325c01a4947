#include "store/queue.hpp"

namespace store {

QueueStatus queue_status(Session& session) {
  // The oldest by a seek for each entity and each webhook: a GROUP BY would read all that waits. (What waits
  // for an entity that does not exist is rejected at once, unless the queue is paused: then it is counted,
  // without its age.)
  const auto rows = session.query(
      "SELECT (SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'pendiente'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'pendiente'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'en_curso'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'retenida'),"
      " (SELECT COUNT(*) FROM entregas WHERE estado = 'fallida'),"
      " (SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'rechazada'),"
      " GREATEST(0, TIMESTAMPDIFF(SECOND, LEAST("
      "  COALESCE((SELECT MIN((SELECT n.ocurrida_en FROM notificaciones_pendientes n"
      "   FORCE INDEX (notificaciones_por_expandir) WHERE n.estado = 'pendiente' AND n.entidad_id = t.id"
      "   ORDER BY n.id LIMIT 1)) FROM entidades t), '9999-12-31'),"
      "  COALESCE((SELECT MIN((SELECT e.proximo_intento FROM entregas e FORCE INDEX (entregas_por_reclamar)"
      "   WHERE e.estado = 'pendiente' AND e.webhook_id = w.id ORDER BY e.proximo_intento LIMIT 1))"
      "   FROM webhooks w), '9999-12-31')), UTC_TIMESTAMP(3))),"
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
