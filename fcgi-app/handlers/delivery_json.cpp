#include "fcgi-app/handlers/delivery_json.hpp"

#include "fcgi-app/handlers/webhook_json.hpp"
#include "platform/ip.hpp"
#include "webhook/address_policy.hpp"
#include "webhook/notification_body.hpp"

namespace api {
namespace {

using webhook::json::Value;

bool is_public(const std::string& address) {
  const auto parsed = platform::IpAddress::parse(address);
  return parsed && webhook::is_public_address(*parsed);
}

}  // namespace

webhook::json::Object listed_delivery(const store::LoggedDelivery& delivery) {
  return {{"id", delivery.id},
          {"mensaje", webhook::message_id(delivery.id, delivery.created)},
          {"evento", delivery.event},
          {"prueba", delivery.test},
          {"estado", delivery.state},
          {"intentos", delivery.attempts},
          {"creada", platform::format_iso8601(delivery.created)},
          {"entregada", time_or_null(delivery.delivered)},
          {"terminada", time_or_null(delivery.ended)},
          {"proximoIntento", time_or_null(delivery.next_attempt)},
          {"ultimoEstado", delivery.last_status},
          {"ultimoError", delivery.last_error}};
}

webhook::json::Object listed_attempt(const store::Attempt& attempt, bool shows_address) {
  const bool shown = shows_address && attempt.address && is_public(*attempt.address);
  return {{"numero", attempt.number},
          {"tipo", attempt.kind},
          {"inicio", platform::format_iso8601(attempt.started)},
          {"duracionMs", attempt.duration_ms},
          {"direccion", shown ? Value(*attempt.address) : Value()},
          {"firmas", attempt.signatures},
          {"estadoHttp", attempt.status},
          {"error", attempt.error}};
}

}  // namespace api
