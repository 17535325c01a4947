#include "lib/store/maintenance/held.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/cancelled.hpp"
#include "lib/store/locked_deliveries.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr std::string_view next_webhook_with_held = R"sql(
  SELECT webhook_id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'retenida' AND webhook_id > ? ORDER BY webhook_id LIMIT 1)sql";
constexpr std::string_view held_for_long = R"sql(
  SELECT v.id, COALESCE(n.estado = 'cancelada', FALSE) AS anulada,
    COALESCE(n.caduca_en <= UTC_TIMESTAMP(3), FALSE) AS caducada
  FROM (SELECT id, notificacion_id FROM entregas FORCE INDEX (entregas_por_reclamar)
        WHERE espera = 'retenida' AND webhook_id = ? AND proximo_intento < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
        ORDER BY proximo_intento, id LIMIT ?) v
  LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = v.notificacion_id)sql";
constexpr std::string_view if_held_for =
    "AND estado = 'retenida' AND proximo_intento < UTC_TIMESTAMP(3) - INTERVAL ";
constexpr std::string_view and_free = " MICROSECOND FOR UPDATE SKIP LOCKED";
constexpr std::string_view end_as_failed = R"sql(
  e.estado = IF(e.entregada_en IS NULL, 'fallida', 'entregada'), e.terminada_en = UTC_TIMESTAMP(3),
    e.ultimo_error = IF(e.entregada_en IS NOT NULL, '', 'La entrega ha estado retenida demasiado tiempo y se da por fallida: puede pedir que se reenvíe'))sql";
constexpr std::string_view fail_deliveries = joined<change_locked_deliveries, end_as_failed>;

/// The statement that ends a held delivery: no replay passes a notification that is called off or has
/// expired.
std::string ends(const Row& delivery) {
  const bool cancelled = delivery.boolean("anulada");
  if (!cancelled && !delivery.boolean("caducada")) return std::string(fail_deliveries);
  return std::string(change_locked_deliveries).append(ends_cancelled(cancelled ? called_off : expired));
}

}  // namespace

void give_up_held(Session& session, platform::Milliseconds longest, HeldWalk& walk) {
  const auto rows = session.query(next_webhook_with_held, walk.after);
  if (rows.empty()) {
    walk.done = true;
    return;
  }
  walk.after = rows.front().integer("webhook_id");  // set first: after an exception the next webhook follows
  const auto longest_us = microseconds(longest);
  const auto if_free = std::string(if_held_for).append(std::to_string(longest_us)).append(and_free);
  walk.ended += transaction(session, [&] {
    std::map<std::string, std::vector<DeliveryId>> oldest;
    for (const auto& row : session.query(held_for_long, walk.after, longest_us, batch_rows))
      oldest[ends(row)].push_back(row.integer("id"));
    std::uint64_t ended = 0;
    for (const auto& [statement, ids] : oldest)
      ended += change_accepted(lock_free_deliveries(session, ids, if_free), "delivery", walk.refusal,
                               [&](const auto& some) { return session.update(statement, json_ids(some)); });
    return ended;
  });
}

}  // namespace store
