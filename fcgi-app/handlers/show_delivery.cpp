#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/delivery_json.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/query.hpp"
#include "fcgi-app/response.hpp"
#include "webhook/crypto.hpp"
#include "webhook/notification_body.hpp"
#include "webhook/sealed_data.hpp"

namespace api {
namespace {

using webhook::json::Array;
using webhook::json::Value;

/// What every attempt sends. None: what the entity gave with a test cannot be opened, its key is gone.
std::optional<std::string> body_of(const Call& call, const store::LoggedEvidence& evidence) {
  const auto event = webhook::find_event(evidence.delivery.event);
  if (!event) return std::nullopt;
  if (!evidence.delivery.test) return webhook::notification_body(*event, evidence.occurred, evidence.data);
  const auto data = webhook::open_test_data(call.keys, call.caller.id, *event, evidence.data);
  return data ? std::optional(webhook::notification_body(*event, evidence.occurred, *data)) : std::nullopt;
}

}  // namespace

Response show_delivery(const Call& call) {
  const Query no_parameters(call.query, {});
  const auto& webhook = own_webhook(call);
  const auto id = parse_id(call.parameters[1]);
  const auto evidence = id ? store::find_evidence(call.session, webhook.id, *id) : std::nullopt;
  if (!evidence) throw NotFound("No existe ninguna entrega con ese identificador en el webhook");
  const auto body = body_of(call, *evidence);
  auto shown = listed_delivery(evidence->delivery);
  shown.emplace_back("cuerpo", body);
  shown.emplace_back("sha256Cuerpo",
                     body ? Value(webhook::crypto::to_hex(webhook::crypto::sha256(*body))) : Value());
  Array history;
  for (const auto& attempt : evidence->attempts)
    history.emplace_back(listed_attempt(attempt, call.hidden_networks));
  shown.emplace_back("historial", std::move(history));
  return json_response(200, std::move(shown));
}

}  // namespace api
