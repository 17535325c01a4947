#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/response.hpp"
#include "webhook/registration.hpp"

namespace api {

Response register_webhook(const Call& call) {
  webhook::Registration registration = webhook::parse_registration(call.body, call.overrides);
  const auto created = store::create_webhook(
      call.session,
      {call.caller.id, std::move(registration.url), registration.events, std::move(registration.secret)},
      call.keys);
  if (!created) throw BadRequest(std::string(webhook::too_many_webhooks_message));
  return json_response(201, created_webhook(*created));
}

}  // namespace api
