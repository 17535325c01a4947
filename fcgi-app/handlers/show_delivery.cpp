#include "fcgi-app/handlers/delivery_json.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/http/errors.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/sealed_data.hpp"

namespace api {
namespace {

/// The body that every attempt sends; nullopt: the event is unknown, or a test event's data cannot be opened.
std::optional<std::string> body_of(const Call& call, const store::LoggedEvidence& evidence) {
  const auto event = webhook::find_event(evidence.delivery.event);
  if (!event) return std::nullopt;
  if (!evidence.delivery.test) return webhook::notification_body(*event, evidence.occurred, evidence.data);
  const auto data = webhook::open_test_data(call.keys, call.caller.id, *event, evidence.data);
  return data ? std::optional(webhook::notification_body(*event, evidence.occurred, *data)) : std::nullopt;
}

}  // namespace

Response show_delivery(const Call& call) {
  const auto& webhook = own_webhook(call);
  const std::optional<store::DeliveryId> id = parse_id(call.parameters[1]);
  const auto evidence = id ? store::find_evidence(call.session, webhook.id, *id) : std::nullopt;
  if (!evidence) throw NotFound("No existe ninguna entrega con ese identificador en el webhook");
  const auto body = body_of(call, *evidence);
  json::Writer writer;
  writer.begin_object();
  write_delivery(writer, evidence->delivery);
  writer.member("cuerpo", body);
  writer.member("sha256Cuerpo", body ? std::optional(crypto::to_hex(crypto::sha256(*body))) : std::nullopt);
  writer.name("historial");
  writer.begin_array();
  for (const auto& attempt : evidence->attempts) write_attempt(writer, attempt, call.hidden_networks);
  writer.end_array();
  writer.end_object();
  return {200, writer.take()};
}

}  // namespace api
