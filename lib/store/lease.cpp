#include "store/lease.hpp"

#include <algorithm>

#include "store/json_rows.hpp"

namespace store {

namespace json = webhook::json;

// Due again, and as long as before: so it comes before what fell due later. What was claimed was due, so a
// later time is that of a clock that has gone back.
#define DUE "e.proximo_intento = LEAST(e.proximo_intento, UTC_TIMESTAMP(3))"

void release_leases(Session& session, const std::vector<LeasedDelivery>& deliveries) {
  if (deliveries.empty()) return;
  json::Array rows;
  for (const auto& delivery : deliveries)
    rows.push_back(json::Array{delivery.id, std::to_string(delivery.lease)});
  session.update(
      "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]')) j"
      " STRAIGHT_JOIN entregas e ON e.id = j.id"
      " SET e.estado = 'pendiente', e.arriendo = NULL, e.arriendo_hasta = NULL, " DUE
      " WHERE e.arriendo = j.lease",
      json::dump(rows));
}

std::uint64_t recover_expired_leases(Session& session, unsigned limit) {
  // Nearly always there are none: one statement instead of a transaction, once a second for ever.
  if (session.query("SELECT 1 FROM entregas WHERE arriendo_hasta < UTC_TIMESTAMP(3) LIMIT 1").empty())
    return 0;
  return transaction(session, [&]() -> std::uint64_t {
    // What somebody holds is being settled, or recovered elsewhere: it is skipped, never waited for.
    std::vector<DeliveryId> expired;
    for (const auto& row : session.query("SELECT id FROM entregas WHERE arriendo_hasta < UTC_TIMESTAMP(3)"
                                         " ORDER BY arriendo_hasta LIMIT ? FOR UPDATE SKIP LOCKED",
                                         limit)) {
      expired.push_back(row.integer(0));
    }
    if (expired.empty()) return 0;
    return session.update(
        "UPDATE " STORE_JSON_IDS
        " j STRAIGHT_JOIN entregas e ON e.id = j.id SET e.estado = 'pendiente', e.arriendo = NULL,"
        " e.arriendo_hasta = NULL, " DUE " WHERE e.arriendo_hasta < UTC_TIMESTAMP(3)",
        json::dump(json::Array(expired.begin(), expired.end())));
  });
}

}  // namespace store
