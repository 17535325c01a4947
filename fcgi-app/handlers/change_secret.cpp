#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/store/webhooks/secret_change.hpp"
#include "lib/webhook/request_bodies.hpp"

namespace api {
namespace {

using json::Object;

Conflict grace_running(const std::optional<store::UtcTime>& until) {
  const auto when = until ? "El secreto anterior sigue en vigor hasta " + platform::format_iso8601(*until)
                          : std::string("El secreto anterior sigue en vigor");
  return Conflict(when + ": espere, anúlelo con DELETE …/secreto/anterior, o envíe graciaSegundos 0");
}

}  // namespace

Response change_secret(const Call& call) {
  const auto wanted = webhook::parse_new_secret(call.body);
  const auto id = own_webhook(call).id;
  const auto changed =
      store::change_secret(call.session, {call.caller.id, call.caller.token}, id,
                           {wanted.secret, wanted.grace}, call.keys, call.limits.registrations);
  if (changed.result == store::SecretChanged::not_found) throw no_such_webhook();
  if (changed.result == store::SecretChanged::grace_running) throw grace_running(changed.previous_until);
  return json_response(200,
                       Object{{"message", "El secreto enviado está en vigor en el webhook " + to_string(id)},
                              {"secretoAnteriorHasta", time_or_null(changed.previous_until)}});
}

Response end_grace(const Call& call) {
  const auto id = own_webhook(call).id;
  if (!store::end_grace(call.session, {call.caller.id, call.caller.token}, id))
    throw NotFound("El webhook no tiene ningún secreto anterior en vigor");
  return message_response(200, "El secreto anterior del webhook " + to_string(id) + " ya no firma");
}

}  // namespace api
