#include "lib/store/maintenance/held.hpp"

#include <string_view>
#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"

namespace store {

namespace {

constexpr std::string_view next_webhook_with_held = R"sql(
  SELECT webhook_id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'retenida' AND webhook_id > ? ORDER BY webhook_id LIMIT 1)sql";
constexpr std::string_view lock_held_for_long = R"sql(
  SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'retenida' AND webhook_id = ? AND proximo_intento < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
  ORDER BY proximo_intento, id LIMIT ? FOR UPDATE SKIP LOCKED)sql";
/// On MariaDB this statement fails at once (result_rows.cpp) if another session has locked a place in an
/// index.
constexpr std::string_view fail = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.estado = IF(e.entregada_en IS NULL, 'fallida', 'entregada'), e.terminada_en = UTC_TIMESTAMP(3),
    e.ultimo_error = IF(e.entregada_en IS NOT NULL, '', 'La entrega ha estado retenida demasiado tiempo y se da por fallida: puede pedir que se reenvíe'))sql";

}  // namespace

void give_up_held(Session& session, platform::Milliseconds longest, HeldWalk& walk) {
  const auto rows = session.query(next_webhook_with_held, walk.after);
  if (rows.empty()) {
    walk.done = true;
    return;
  }
  const auto webhook = rows.front().integer("webhook_id");
  const auto before = walk.after;
  walk.after = webhook;  // set first: a failure must not stop the walk
  std::vector<DeliveryId> ids;
  const auto failed = transaction(session, [&] {
    ids.clear();
    for (const auto& row :
         session.query(lock_held_for_long, webhook, std::int64_t{longest.count()} * 1000, batch_rows))
      ids.push_back(row.integer("id"));
    return change_accepted(ids, "delivery", walk.refusal,
                           [&](const auto& some) { return session.update(fail, json_ids(some)); });
  });
  walk.failed += failed;
  if (failed > 0 && ids.size() == batch_rows) walk.after = before;  // there may be more
}

}  // namespace store
