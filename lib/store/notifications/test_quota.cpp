#include "lib/store/notifications/test_quota.hpp"

#include <algorithm>

#include "lib/store/session/json_rows.hpp"

namespace store {

namespace {

constexpr std::string_view take_turn = R"sql(
  INSERT INTO turnos_prueba (entidad_id, turno) VALUES (?, 1) ON DUPLICATE KEY UPDATE turno = turno + 1,
    bytes_saldados_hasta = LEAST(bytes_saldados_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 DAY))sql";

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

constexpr std::int64_t day_us = 86'400'000'000;

constexpr std::string_view count_bytes = R"sql(
  UPDATE turnos_prueba
  SET bytes_saldados_hasta =
    GREATEST(COALESCE(bytes_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
  WHERE entidad_id = ?
    AND (COALESCE(bytes_saldados_hasta, UTC_TIMESTAMP(6)) <= UTC_TIMESTAMP(6)
      OR bytes_saldados_hasta + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6) + INTERVAL 1 DAY))sql";
constexpr std::string_view until_they_pass = R"sql(
  SELECT CEILING(LEAST(
      TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL 1 DAY, bytes_saldados_hasta + INTERVAL ? MICROSECOND),
      TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), bytes_saldados_hasta)) / 1000000) AS falta_s
  FROM turnos_prueba WHERE entidad_id = ?)sql";

}  // namespace

void take_test_turn(Session& session, EntityId entity) { session.update(take_turn, entity); }

std::optional<unsigned> count_test_bytes(Session& session, EntityId entity, std::uint64_t bytes,
                                         std::uint64_t per_day) {
  const double share = static_cast<double>(bytes) / static_cast<double>(per_day);
  constexpr double most = 2;  // days; any value above one means more than the quota
  const auto share_us = static_cast<std::int64_t>(std::min(share, most) * static_cast<double>(day_us));
  if (session.update(count_bytes, share_us, entity, share_us) == 1) return std::nullopt;
  const auto wait_s = session.query(until_they_pass, share_us, entity).at(0).integer("falta_s");
  return static_cast<unsigned>(std::max(std::int64_t{1}, wait_s));
}

std::uint64_t room_for_tests(Session& session, EntityId entity, std::uint64_t limit) {
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
