#include <algorithm>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/response.hpp"
#include "lib/store/notifications/notifications.hpp"
#include "lib/store/notifications/test_quota.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/request_bodies.hpp"
#include "lib/webhook/sealed_data.hpp"

namespace api {
namespace {

using json::Array;
using json::Object;

NotFound nobody_subscribed(webhook::Event event) {
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

TooManyRequests too_many_pending(std::uint64_t limit) {
  constexpr unsigned retry_after_s = 30;  // by then a receiver that answers has done so
  return {
      "La entidad tendría más de " + std::to_string(limit) +
          " envíos de prueba pendientes; espere a que terminen los que hay, o elimine los webhooks que no "
          "responden, y vuelva a intentarlo",
      retry_after_s};
}

TooManyRequests too_many_bytes(std::uint64_t limit, unsigned retry_after_s) {
  constexpr std::uint64_t mib = 1 << 20;
  const auto most =
      limit % mib == 0 ? std::to_string(limit / mib) + " MiB" : std::to_string(limit) + " bytes";
  return {"Las pruebas de la entidad ocupan demasiado: el máximo es " + most +
              " al día, sea cual sea el token; reduzca datosExtra, o vuelva a intentarlo más tarde",
          retry_after_s};
}

std::vector<store::Webhook> queue(const Call& call, webhook::Event event, const std::string& data) {
  const auto& limits = call.limits;
  try {
    return store::queue_test_event(call.session, call.caller.id, event, data, limits.pending_test_deliveries,
                                   limits.test_bytes);
  } catch (const store::TooManyPendingTests&) {
    throw too_many_pending(limits.pending_test_deliveries);
  } catch (const store::TooManyTestBytes& refused) {
    throw too_many_bytes(limits.test_bytes, refused.retry_after_s);
  }
}

}  // namespace

Response test_event(const Call& call) {
  const auto [event, extra] = webhook::parse_test_request(call.body);
  if (!has_subscriber(call.caller, event))
    throw nobody_subscribed(event);  // saves the database a transaction
  const std::string data = webhook::test_event_data(event, call.caller.id, call.caller.name, extra);
  // datosExtra may hold a credential of the entity, so it is sealed in the database like a secret.
  const auto queued = queue(call, event, webhook::seal_test_data(call.keys, call.caller.id, event, data));
  if (queued.empty()) throw nobody_subscribed(event);
  const std::string message = "Evento de prueba '" + std::string(name(event)) + "' encolado para " +
                              std::to_string(queued.size()) + (queued.size() == 1 ? " webhook" : " webhooks");
  return json_response(200, Object{{"message", message}, {"webhooks", recipients(queued)}});
}

}  // namespace api
