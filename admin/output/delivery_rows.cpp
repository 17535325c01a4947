#include "admin/output/delivery_rows.hpp"

#include "admin/output/render.hpp"

namespace admin {

json::Object to_row(const store::Delivery& delivery) {
  return {{"id", delivery.id},
          {"webhook_id", delivery.webhook},
          {"notificacion_id", delivery.notification},
          {"evento", delivery.event},
          {"estado", delivery.state},
          {"intentos", delivery.attempts},
          {"proximo_intento", time_value(delivery.next_attempt)},
          {"ultimo_estado", delivery.last_status},
          {"ultimo_error", delivery.last_error}};
}

json::Object to_row(const store::RecordedAttempt& attempt) {
  return {{"numero", attempt.number},           {"tipo", attempt.kind},
          {"sondeos", attempt.probes},          {"inicio", time_value(attempt.started)},
          {"duracion_ms", attempt.duration_ms}, {"direccion", attempt.address},
          {"estado_http", attempt.status},      {"error", attempt.error}};
}

}  // namespace admin
