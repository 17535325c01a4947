#include <algorithm>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
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

/// Returns the data of a test event as the database stores it: datosExtra is the entity's own data, sealed as
/// its secrets are.
std::string sealed_data(const Call& call, webhook::Event event, const json::Value& extra) {
  const std::string data = webhook::test_event_data(event, call.caller.id, call.caller.name, extra);
  return webhook::seal_test_data(call.keys, call.caller.id, event, data);
}

std::string queued_message(webhook::Event event, const std::string& recipients) {
  return "Evento de prueba '" + std::string(name(event)) + "' encolado para " + recipients;
}

}  // namespace

Response test_event(const Call& call) {
  const auto [event, extra] = webhook::parse_test_event_request(call.body);
  if (!has_subscriber(call.caller, event)) throw no_subscriber(event);  // saves the database a transaction
  const auto queued =
      store::queue_test_event(call.session, call.caller.id, event, sealed_data(call, event, extra),
                              call.limits.pending_test_deliveries, call.limits.test_bytes);
  if (queued.empty()) throw no_subscriber(event);
  const auto message =
      queued_message(event, std::to_string(queued.size()) + (queued.size() == 1 ? " webhook" : " webhooks"));
  return json_response(200, Object{{"message", message}, {"webhooks", recipients(queued)}});
}

Response test_webhook(const Call& call) {
  const auto [event, extra] = webhook::parse_webhook_test_request(call.body);
  const auto& webhook = own_webhook(call);
  if (!webhook.active) throw inactive_webhook();  // saves the database a transaction
  const auto queued = store::queue_webhook_test(call.session, call.caller.id, webhook.id, event,
                                                sealed_data(call, event, extra),
                                                call.limits.pending_test_deliveries, call.limits.test_bytes);
  if (queued.result == store::TestQueued::not_found) throw no_such_webhook();
  if (queued.result == store::TestQueued::inactive) throw inactive_webhook();
  const auto message = queued_message(event, "el webhook " + to_string(webhook.id));
  return json_response(
      202, Object{{"message", message},
                  {"entrega", Object{{"id", queued.delivery},
                                     {"mensaje", webhook::message_id(queued.delivery, queued.created)}}}});
}

}  // namespace api
