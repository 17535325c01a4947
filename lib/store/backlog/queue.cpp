#include "lib/store/backlog/queue.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/slots.hpp"

namespace store {

namespace {

// One seek for each entity and each webhook finds the oldest: a GROUP BY would read the whole queue. ORDER BY
// also names the column that is compared with the outer row: in a subquery MySQL does not treat it as a
// constant, and would sort the whole backlog. Webhooks are reached by the slots of each entity, because the
// number of deleted webhooks is unbounded. (Notifications for an entity that does not exist are rejected at
// once, unless the queue is paused: then they are counted, without their age.) Quarantined notifications
// count as rechazada.

constexpr std::string_view count_all = R"sql(
  SELECT
    (SELECT COUNT(*) FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
      WHERE estado = 'pendiente') AS notificaciones_pendientes,
    (SELECT COUNT(*) FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'pendiente') AS entregas_pendientes,
    (SELECT COUNT(*) FROM entregas FORCE INDEX (entregas_arriendos_vencidos)
      WHERE arriendo_hasta > '1970-01-01') AS en_curso,
    (SELECT COUNT(*) FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'retenida') AS retenidas,
    (SELECT COUNT(*) FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'fallida') AS fallidas,
    (SELECT COUNT(*) FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
      WHERE estado = 'rechazada') AS rechazadas,
    (SELECT COUNT(*) FROM notificaciones_apartadas a
      STRAIGHT_JOIN notificaciones_pendientes n ON n.id = a.notificacion_id
      WHERE n.estado = 'pendiente') AS apartadas,
    (SELECT COUNT(*) FROM notificaciones_apartadas a
      STRAIGHT_JOIN notificaciones_pendientes n ON n.id = a.notificacion_id
      WHERE n.estado = 'pendiente' AND a.estado = 'rechazada') AS apartadas_rechazadas,)sql";

/// Counts each state up to a limit.
constexpr std::string_view count_up_to_limit = R"sql(
  SELECT
    (SELECT COUNT(*) FROM (SELECT 1 FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
      WHERE estado = 'pendiente' LIMIT ?) c) AS notificaciones_pendientes,
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'pendiente' LIMIT ?) c) AS entregas_pendientes,
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_arriendos_vencidos)
      WHERE arriendo_hasta > '1970-01-01' LIMIT ?) c) AS en_curso,
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'retenida' LIMIT ?) c) AS retenidas,
    (SELECT COUNT(*) FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
      WHERE espera = 'fallida' LIMIT ?) c) AS fallidas,
    (SELECT COUNT(*) FROM (SELECT 1 FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
      WHERE estado = 'rechazada' LIMIT ?) c) AS rechazadas,
    (SELECT COUNT(*) FROM (SELECT 1 FROM notificaciones_apartadas a
      STRAIGHT_JOIN notificaciones_pendientes n ON n.id = a.notificacion_id
      WHERE n.estado = 'pendiente' LIMIT ?) c) AS apartadas,
    (SELECT COUNT(*) FROM (SELECT 1 FROM notificaciones_apartadas a
      STRAIGHT_JOIN notificaciones_pendientes n ON n.id = a.notificacion_id
      WHERE n.estado = 'pendiente' AND a.estado = 'rechazada' LIMIT ?) c) AS apartadas_rechazadas,)sql";

constexpr std::string_view ages = R"sql(
    GREATEST(0, COALESCE(TIMESTAMPDIFF(SECOND,
      (SELECT MIN((SELECT n.ocurrida_en
                   FROM notificaciones_pendientes n FORCE INDEX (notificaciones_por_expandir)
                   WHERE n.estado = 'pendiente' AND n.entidad_id = t.id
                     AND NOT EXISTS (SELECT 1 FROM notificaciones_apartadas a WHERE a.notificacion_id = n.id)
                   ORDER BY n.entidad_id, n.id LIMIT 1))
       FROM entidades t),
      UTC_TIMESTAMP(3)), 0)) AS notificacion_s,
    GREATEST(0, COALESCE(TIMESTAMPDIFF(SECOND,
      (SELECT MIN((SELECT d.proximo_intento
                   FROM entregas d FORCE INDEX (entregas_por_reclamar)
                   WHERE d.espera = 'pendiente' AND d.webhook_id = w.id
                   ORDER BY d.webhook_id, d.proximo_intento LIMIT 1))
       FROM entidades t
       STRAIGHT_JOIN)sql";
constexpr std::string_view ages_by_slot = R"sql(p
       STRAIGHT_JOIN webhooks w FORCE INDEX (webhooks_cinco_por_entidad)
         ON w.entidad_id = t.id AND w.plaza = p.plaza
       LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
       WHERE x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3)),
      UTC_TIMESTAMP(3)), 0)) AS entrega_s,
    (SELECT pausada FROM control_envio WHERE id = 1) AS pausada,
    (SELECT salto_ms DIV 1000 FROM reloj_visto WHERE id = 1) AS salto_s)sql";

constexpr auto whole_queue = joined<count_all, ages, every_slot, ages_by_slot>;
constexpr auto queue_up_to_limit = joined<count_up_to_limit, ages, every_slot, ages_by_slot>;

/// Without this, MySQL returns statistics that may be a day old.
constexpr std::string_view no_old_statistics = "SET SESSION information_schema_stats_expiry = 0";
constexpr std::string_view next_number = R"sql(
  SELECT CAST(9223372036854775807 - LEAST(auto_increment, 9223372036854775807) AS CHAR) AS quedan
  FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes')sql";

constexpr std::string_view set_pause = R"sql(
  UPDATE control_envio SET pausada = ?, desde = IF(?, UTC_TIMESTAMP(3), NULL)
  WHERE id = 1 AND pausada <> ?)sql";
constexpr std::string_view pause_state = R"sql(
  SELECT pausada FROM control_envio WHERE id = 1)sql";

}  // namespace

QueueStatus queue_status(Session& session, std::optional<std::int64_t> limit) {
  constexpr std::size_t counts = 8;
  const auto rows =
      limit ? session.run_query(queue_up_to_limit, std::vector<Parameter>(counts, Parameter(*limit)))
            : session.query(whole_queue);
  const auto& row = rows.at(0);
  const auto oldest_notification = row.integer("notificacion_s");
  const auto oldest_delivery = row.integer("entrega_s");
  return {std::max<std::int64_t>(0, row.integer("notificaciones_pendientes") - row.integer("apartadas")),
          row.integer("entregas_pendientes"),
          row.integer("en_curso"),
          row.integer("retenidas"),
          row.integer("fallidas"),
          row.integer("rechazadas") + row.integer("apartadas_rechazadas"),
          std::max(oldest_notification, oldest_delivery),
          oldest_notification,
          oldest_delivery,
          row.boolean("pausada"),
          row.integer("salto_s")};
}

std::optional<double> notification_numbers_left(Session& session) {
  if (!session.is_mariadb()) session.execute(std::string(no_old_statistics));
  const auto rows = session.query(next_number);
  const auto left = rows.empty() ? std::nullopt : rows.front().optional_text("quedan");
  return left ? std::optional(std::stod(*left)) : std::nullopt;
}

bool set_paused(Session& session, bool paused) {
  return session.update(set_pause, paused, paused, paused) == 1;
}

bool is_paused(Session& session) { return session.query(pause_state).at(0).boolean("pausada"); }

}  // namespace store
