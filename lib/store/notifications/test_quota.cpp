#include "store/notifications/test_quota.hpp"

#include "store/session/json_rows.hpp"

namespace store {

std::uint64_t take_test_turn(Session& session, EntityId entity, std::uint64_t limit) {
  session.update(
      "INSERT INTO turnos_prueba (entidad_id, turno) VALUES (?, 1) ON DUPLICATE KEY UPDATE turno = turno + 1",
      entity);
  std::uint64_t pending = 0;
  webhook::json::Array ended;
  for (const auto& row :
       session.query("SELECT p.entrega_id, e.id IS NOT NULL AND e.terminada_en IS NULL"
                     " FROM pruebas_pendientes p LEFT JOIN entregas e ON e.id = p.entrega_id"
                     " WHERE p.entidad_id = ?",
                     entity)) {
    if (row.boolean(1))
      ++pending;
    else
      ended.emplace_back(row.integer(0));
  }
  if (!ended.empty()) {
    session.update("DELETE p FROM " STORE_JSON_IDS
                   " j STRAIGHT_JOIN pruebas_pendientes p FORCE INDEX (PRIMARY) ON p.entidad_id = ? AND "
                   "p.entrega_id = j.id",
                   webhook::json::dump(ended), entity);
  }
  return pending < limit ? limit - pending : 0;
}

void count_test_deliveries(Session& session, EntityId entity, NotificationId notification) {
  session.update(
      "INSERT INTO pruebas_pendientes (entidad_id, entrega_id) SELECT ?, id FROM entregas"
      " WHERE notificacion_id = ?",
      entity, notification);
}

}  // namespace store
