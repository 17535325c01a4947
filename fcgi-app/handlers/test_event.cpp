#include <algorithm>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/store/notifications/notifications.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/request_bodies.hpp"
#include "lib/webhook/sealed_data.hpp"

namespace api {
namespace {

using json::Array;
using json::Object;

NotFound no_subscriber(webhook::Event event) {
  return NotFound("Ningún webhook activo está suscrito al evento '" + std::string(name(event)) + "'");
}

bool has_subscriber(const store::Caller& caller, webhook::Event event) {
  return std::any_of(caller.webhooks.begin(), caller.webhooks.end(),
                     [&](const store::Webhook& w) { return w.active && w.events.contains(event); });
}

Array recipients(const std::vector<store::Webhook>& webhooks) {
  Array list;
  for (const store::Webhook& w : webhooks) list.emplace_back(Object{{"id", w.id}, {"url", w.url}});
  return list;
}

}  // namespace

Response test_event(const Call& call) {
  const auto [event, extra] = webhook::parse_test_event_request(call.body);
  if (!has_subscriber(call.caller, event)) throw no_subscriber(event);  // saves the database a transaction
  const std::string data = webhook::test_event_data(event, call.caller.id, call.caller.name, extra);
  // datosExtra is the entity's own data: sealed in the database, as its secrets are.
  const auto sealed = webhook::seal_test_data(call.keys, call.caller.id, event, data);
  const auto queued = store::queue_test_event(call.session, call.caller.id, event, sealed,
                                              call.limits.pending_test_deliveries, call.limits.test_bytes);
  if (queued.empty()) throw no_subscriber(event);
  const std::string message = "Evento de prueba '" + std::string(name(event)) + "' encolado para " +
                              std::to_string(queued.size()) + (queued.size() == 1 ? " webhook" : " webhooks");
  return json_response(200, Object{{"message", message}, {"webhooks", recipients(queued)}});
}

}  // namespace api
