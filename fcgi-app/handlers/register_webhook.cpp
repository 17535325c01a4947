#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/registration_limit.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/response.hpp"
#include "webhook/registration.hpp"

namespace api {
namespace {

std::optional<store::Webhook> create(const Call& call, webhook::Registration registration) {
  return within_registration_limit(call, [&](unsigned limit) {
    return store::create_webhook(call.session,
                                 {call.caller.id, std::move(registration.url), registration.events,
                                  std::move(registration.secret), call.caller.token},
                                 call.keys, limit);
  });
}

}  // namespace

Response register_webhook(const Call& call) {
  const auto created = create(call, webhook::parse_registration(call.body, call.overrides));
  if (!created) throw BadRequest(std::string(webhook::too_many_webhooks_message));
  return json_response(201, created_webhook(*created));
}

}  // namespace api
