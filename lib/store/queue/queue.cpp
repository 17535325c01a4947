#include "store/queue/queue.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "store/deliveries/first_pending.hpp"

namespace store {

namespace {

constexpr std::string_view notifications =
    "notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir) WHERE estado = ";
constexpr std::string_view deliveries = "entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = ";
constexpr std::string_view in_flight =
    "entregas FORCE INDEX (entregas_arriendos_vencidos) WHERE arriendo_hasta > ";

/// `, (SELECT COUNT(*) …)` of the rows of `table` that fit its last comparison; one that is limited has a
/// parameter.
std::string count_of(std::string_view table, std::string_view value, bool limited) {
  const std::string rows = std::string(table) + "'" + std::string(value) + "'";
  return limited ? " (SELECT COUNT(*) FROM (SELECT 1 FROM " + rows + " LIMIT ?) c),"
                 : " (SELECT COUNT(*) FROM " + rows + "),";
}

/// The oldest by a seek for each entity and each webhook: a GROUP BY would read all that waits. (What waits
/// for an entity that does not exist is rejected at once, unless the queue is paused: then it is counted,
/// without its age.)
std::string status_statement(bool limited) {
  return "SELECT" + count_of(notifications, "pendiente", limited) +
         count_of(deliveries, "pendiente", limited) + count_of(in_flight, "1970-01-01", limited) +
         count_of(deliveries, "retenida", limited) + count_of(deliveries, "fallida", limited) +
         count_of(notifications, "rechazada", limited) +
         " GREATEST(0, COALESCE(TIMESTAMPDIFF(SECOND, (SELECT MIN(" STORE_FIRST_OCCURRED("t.id")
         ") FROM entidades t), UTC_TIMESTAMP(3)), 0)),"
         " GREATEST(0, COALESCE(TIMESTAMPDIFF(SECOND, (SELECT MIN(" STORE_FIRST_DUE("w.id")
         ") FROM webhooks w LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id"
         "  WHERE x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3)), UTC_TIMESTAMP(3)), 0)),"
         " (SELECT pausada FROM control_envio WHERE id = 1)";
}

}  // namespace

QueueStatus queue_status(Session& session, std::optional<std::int64_t> limit) {
  static const std::string whole = status_statement(false);
  static const std::string limited = status_statement(true);
  constexpr std::size_t counts = 6;
  const auto rows = limit ? session.run_query(limited, std::vector<Parameter>(counts, Parameter(*limit)))
                          : session.query(whole);
  const auto& row = rows.at(0);
  const auto oldest_notification = row.integer(6);
  const auto oldest_delivery = row.integer(7);
  return {row.integer(0),
          row.integer(1),
          row.integer(2),
          row.integer(3),
          row.integer(4),
          row.integer(5),
          std::max(oldest_notification, oldest_delivery),
          oldest_notification,
          oldest_delivery,
          row.boolean(8)};
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
