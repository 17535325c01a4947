#include "store/lease.hpp"

#include <algorithm>

#include "store/json_rows.hpp"

namespace store {

namespace json = webhook::json;

void release_leases(Session& session, const std::vector<LeasedDelivery>& deliveries) {
  if (deliveries.empty()) return;
  json::Array rows;
  for (const auto& delivery : deliveries)
    rows.push_back(json::Array{delivery.id, std::to_string(delivery.lease)});
  session.update(
      "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', lease BIGINT UNSIGNED PATH '$[1]')) j"
      " STRAIGHT_JOIN entregas e ON e.id = j.id"
      " SET e.estado = 'pendiente', e.arriendo = NULL, e.arriendo_hasta = NULL WHERE e.arriendo = j.lease",
      json::dump(rows));
}

std::uint64_t recover_expired_leases(Session& session, unsigned limit) {
  // proximo_intento stays: it is past, so they come before what fell due later.
  return session.update(
      "UPDATE entregas SET estado = 'pendiente', arriendo = NULL, arriendo_hasta = NULL"
      " WHERE arriendo_hasta < UTC_TIMESTAMP(3) ORDER BY arriendo_hasta LIMIT ?",
      limit);
}

}  // namespace store
