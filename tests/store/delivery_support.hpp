// Turns a notification into a leased delivery, step by step.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/store/database.hpp"

namespace store::testing {

inline constexpr Lease long_lease{101, platform::Milliseconds(60000)};

/// A webhook of entity 1, and short functions for the steps of a delivery.
struct DeliveryFixture {
  Database database;
  Session& session = database.session;
  Webhook webhook = add_webhook(session, 1);

  std::vector<LeasedDelivery> claim_some(unsigned limit, const Lease& lease = long_lease) {
    return claim(session, {{webhook.id, limit}}, lease).leased.deliveries;
  }
  LeasedDelivery claim_one(const Lease& lease = long_lease) { return claim_some(1, lease).at(0); }
  bool nothing_due() {
    const auto waiting = find_waiting_webhooks(session, {IdRange{}});
    return waiting.empty() || waiting.front().until.count() > 0;
  }
  Delivery only() { return list_deliveries(session, {}).at(0); }
  /// Adds `count` deliveries in `state`, created `ago` days ago.
  void add_deliveries(unsigned count, std::string_view state, int ago) {
    const bool ended = state == "entregada" || state == "fallida" || state == "cancelada";
    for (unsigned done = 0; done < count; done += 500) {
      session.update(
          "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en)"
          " SELECT 1, 'evaluacion.abierta', '{}', 'procesada', UTC_TIMESTAMP(3)"
          " FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i "
          "FROM n) t",
          std::min(count - done, 500U));
      session.update(
          "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, "
          "terminada_en)"
          " SELECT n.id, ?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) - INTERVAL ? DAY, IF(?, UTC_TIMESTAMP(3), "
          "NULL)"
          " FROM notificaciones_pendientes n LEFT JOIN entregas e ON e.notificacion_id = n.id WHERE e.id IS "
          "NULL",
          webhook.id, state, ago, ended);
    }
  }
  void queue_one() {
    insert_notification(session, 1);
    fan_out(session);
  }
};

}  // namespace store::testing
