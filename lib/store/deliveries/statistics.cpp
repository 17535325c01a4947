#include "lib/store/deliveries/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace store {

namespace {

constexpr unsigned looked_at = 2000;      // deliveries at most
constexpr unsigned most_attempts = 2000;  // of those deliveries together: a replayed delivery can have many

/// Reads only the newest deliveries, which bounds the cost; the order of ids is nearly that of creation.
/// Joins the notification only for rows with NULL in `prueba`, which were written before that column existed.
constexpr std::string_view count_by_state = R"sql(
  SELECT COUNT(*) AS miradas, COALESCE(MIN(v.creada_en) < MAX(v.desde) - INTERVAL 1 HOUR, FALSE) AS todas,
    COALESCE(SUM(v.cuenta AND v.entregada), 0) AS entregadas,
    COALESCE(SUM(v.cuenta AND NOT v.entregada AND v.estado = 'fallida'), 0) AS fallidas,
    COALESCE(SUM(v.cuenta AND NOT v.entregada AND v.estado IN ('pendiente', 'en_curso')), 0) AS pendientes,
    COALESCE(SUM(v.cuenta AND NOT v.entregada AND v.estado = 'retenida'), 0) AS retenidas,
    COALESCE(SUM(IF(v.cuenta, v.intentos, 0)), 0) AS intentos
  FROM (SELECT e.creada_en, e.estado, e.intentos, e.estado = 'entregada' OR e.entregada_en IS NOT NULL AS entregada,
          UTC_TIMESTAMP(3) - INTERVAL ? SECOND AS desde,
          NOT COALESCE(e.prueba, n.origen = 'prueba') AND e.creada_en >= UTC_TIMESTAMP(3) - INTERVAL ? SECOND AS cuenta
        FROM entregas e FORCE INDEX (entregas_de_webhook)
        LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY)
          ON n.id = IF(e.prueba IS NULL, e.notificacion_id, NULL)
        WHERE e.webhook_id = ? ORDER BY e.id DESC LIMIT ?) v)sql";
constexpr std::string_view durations_of_received = R"sql(
  SELECT a.duracion_ms
  FROM (SELECT i.duracion_ms, i.estado_http
        FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
              WHERE webhook_id = ? ORDER BY id DESC LIMIT ?) v
        STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id
        LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY)
          ON n.id = IF(e.prueba IS NULL, e.notificacion_id, NULL)
        STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = e.id
        WHERE NOT COALESCE(e.prueba, n.origen = 'prueba') AND e.creada_en >= UTC_TIMESTAMP(3) - INTERVAL ? SECOND LIMIT ?) a
  WHERE a.estado_http BETWEEN 200 AND 299)sql";

/// The nearest-rank percentile of values in ascending order.
std::optional<std::int64_t> percentile(const std::vector<std::int64_t>& values, double share) {
  if (values.empty()) return std::nullopt;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values.at(rank - 1);
}

}  // namespace

DeliveryStatistics read_statistics(Session& session, WebhookId webhook, platform::Milliseconds window) {
  const std::int64_t seconds = window / std::chrono::seconds(1);
  const auto counted = session.query(count_by_state, seconds, seconds, webhook, looked_at);
  const auto& row = counted.at(0);
  std::vector<std::int64_t> durations;
  for (const auto& attempt : session.query(durations_of_received, webhook, looked_at, seconds, most_attempts))
    durations.push_back(attempt.integer("duracion_ms"));
  std::ranges::sort(durations);
  const auto attempts = row.unsigned_integer("intentos");
  const bool all_attempts = attempts <= most_attempts;
  const auto delivered = row.unsigned_integer("entregadas");
  // If not all attempts were read, the number of deliveries with a 2xx stands for the number of attempts with
  // a 2xx. A delivery has more than one such attempt only after a replay.
  const auto received = all_attempts ? std::uint64_t{durations.size()} : delivered;
  return {delivered,
          row.unsigned_integer("fallidas"),
          row.unsigned_integer("pendientes"),
          row.unsigned_integer("retenidas"),
          attempts - std::min(attempts, received),  // an attempt may have ended between the two statements
          percentile(durations, 0.5),
          percentile(durations, 0.95),
          (row.integer("miradas") < looked_at || row.boolean("todas")) && all_attempts};
}

}  // namespace store
