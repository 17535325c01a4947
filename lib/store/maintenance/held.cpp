#include "lib/store/maintenance/held.hpp"

#include <string_view>

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
  SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'retenida' AND webhook_id = ? AND proximo_intento < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
  ORDER BY proximo_intento, id LIMIT ?)sql";
constexpr std::string_view if_held_for =
    "AND estado = 'retenida' AND proximo_intento < UTC_TIMESTAMP(3) - INTERVAL ";
constexpr std::string_view and_free = " MICROSECOND FOR UPDATE SKIP LOCKED";
constexpr std::string_view end_as_failed = R"sql(
  e.estado = IF(e.entregada_en IS NULL, 'fallida', 'entregada'), e.terminada_en = UTC_TIMESTAMP(3),
    e.ultimo_error = IF(e.entregada_en IS NOT NULL, '', 'La entrega ha estado retenida demasiado tiempo y se da por fallida: puede pedir que se reenvíe'))sql";
constexpr std::string_view fail_deliveries = joined<change_locked_deliveries, end_as_failed>;

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
  walk.failed += transaction(session, [&] {
    const auto oldest = session.query(held_for_long, walk.after, longest_us, batch_rows);
    return change_accepted(lock_free_deliveries(session, ids_in(oldest), if_free), "delivery", walk.refusal,
                           [&](const auto& some) { return session.update(fail_deliveries, json_ids(some)); });
  });
}

}  // namespace store
