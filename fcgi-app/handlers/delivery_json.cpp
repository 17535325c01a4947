#include "fcgi-app/handlers/delivery_json.hpp"

#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/notification_body.hpp"

namespace api {
namespace {

bool is_shown(const std::string& address, const std::vector<platform::IpNetwork>& hidden) {
  const auto parsed = platform::IpAddress::parse(address);
  return parsed && webhook::may_be_shown(*parsed, hidden);
}

}  // namespace

void write_delivery(json::Writer& writer, const store::LoggedDelivery& delivery) {
  writer.member("id", delivery.id);
  writer.member("mensaje", webhook::message_id(delivery.id, delivery.created));
  writer.member("evento", delivery.event);
  writer.member("prueba", delivery.test);
  writer.member("estado", delivery.state);
  writer.member("intentos", delivery.attempts);
  writer.member("creada", delivery.created);
  writer.member("entregada", delivery.delivered);
  writer.member("terminada", delivery.ended);
  writer.member("proximoIntento", delivery.next_attempt);
  writer.member("ultimoEstado", delivery.last_status);
  writer.member("ultimoError", delivery.last_error);
}

void write_attempt(json::Writer& writer, const store::RecordedAttempt& attempt,
                   const std::vector<platform::IpNetwork>& hidden) {
  const bool shown = attempt.address && is_shown(*attempt.address, hidden);
  writer.begin_object();
  writer.member("numero", attempt.number);
  writer.member("tipo", attempt.kind);
  writer.member("inicio", attempt.started);
  writer.member("duracionMs", attempt.duration_ms);
  writer.member("direccion", shown ? attempt.address : std::nullopt);
  writer.member("firmas", attempt.signatures);
  writer.member("estadoHttp", attempt.status);
  writer.member("error", attempt.error);
  writer.end_object();
}

}  // namespace api
