#include "fcgi-app/handlers/delivery_json.hpp"

#include "fcgi-app/handlers/webhook_json.hpp"
#include "webhook/address_policy.hpp"
#include "webhook/notification_body.hpp"

namespace api {
namespace {

using webhook::json::Value;

constexpr std::size_t members_of_delivery = 15;  // three of them when it is shown whole

bool is_shown(const std::string& address, const std::vector<platform::IpNetwork>& hidden) {
  const auto parsed = platform::IpAddress::parse(address);
  return parsed && webhook::may_be_shown(*parsed, hidden);
}

}  // namespace

webhook::json::Object listed_delivery(const store::LoggedDelivery& delivery) {
  // Not of a list in braces, whose strings would be copied: there are a hundred of these in a page.
  webhook::json::Object object;
  object.reserve(members_of_delivery);
  object.emplace_back("id", delivery.id);
  object.emplace_back("mensaje", webhook::message_id(delivery.id, delivery.created));
  object.emplace_back("evento", delivery.event);
  object.emplace_back("prueba", delivery.test);
  object.emplace_back("estado", delivery.state);
  object.emplace_back("intentos", delivery.attempts);
  object.emplace_back("creada", platform::format_iso8601(delivery.created));
  object.emplace_back("entregada", time_or_null(delivery.delivered));
  object.emplace_back("terminada", time_or_null(delivery.ended));
  object.emplace_back("proximoIntento", time_or_null(delivery.next_attempt));
  object.emplace_back("ultimoEstado", delivery.last_status);
  object.emplace_back("ultimoError", delivery.last_error);
  return object;
}

webhook::json::Object listed_attempt(const store::Attempt& attempt,
                                     const std::vector<platform::IpNetwork>& hidden) {
  const bool shown = attempt.address && is_shown(*attempt.address, hidden);
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
