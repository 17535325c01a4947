#include "store/notifications/test_quota.hpp"

#include "store/session/json_rows.hpp"

namespace store {

namespace {

constexpr std::string_view take_turn = R"sql(
  INSERT INTO turnos_prueba (entidad_id, turno) VALUES (?, 1) ON DUPLICATE KEY UPDATE turno = turno + 1)sql";

constexpr std::string_view counted_deliveries = R"sql(
  SELECT p.entrega_id, e.id IS NOT NULL AND e.terminada_en IS NULL AS pendiente
  FROM pruebas_pendientes p LEFT JOIN entregas e ON e.id = p.entrega_id
  WHERE p.entidad_id = ?)sql";

constexpr std::string_view forget_ended = R"sql(
  DELETE p FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN pruebas_pendientes p FORCE INDEX (PRIMARY) ON p.entidad_id = ? AND p.entrega_id = j.id)sql";

constexpr std::string_view count_deliveries = R"sql(
  INSERT INTO pruebas_pendientes (entidad_id, entrega_id)
  SELECT ?, id FROM entregas WHERE notificacion_id = ?)sql";

}  // namespace

std::uint64_t take_test_turn(Session& session, EntityId entity, std::uint64_t limit) {
  session.update(take_turn, entity);
  std::uint64_t pending = 0;
  std::vector<DeliveryId> ended;
  for (const auto& row : session.query(counted_deliveries, entity)) {
    if (row.boolean("pendiente"))
      ++pending;
    else
      ended.push_back(row.integer("entrega_id"));
  }
  if (!ended.empty()) session.update(forget_ended, json_ids(ended), entity);
  return pending < limit ? limit - pending : 0;
}

void count_test_deliveries(Session& session, EntityId entity, NotificationId notification) {
  session.update(count_deliveries, entity, notification);
}

}  // namespace store
