#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/response.hpp"
#include "store/webhooks/registration_quota.hpp"
#include "webhook/registration.hpp"

namespace api {
namespace {

TooManyRequests too_many_registrations(unsigned limit, unsigned retry_after_s) {
  return {"La entidad ha registrado demasiados webhooks: el máximo es " + std::to_string(limit) +
              " por hora, y eliminarlos no lo amplía; vuelva a intentarlo más tarde",
          retry_after_s};
}

std::optional<store::Webhook> create(const Call& call, webhook::Registration registration) {
  const auto limit = call.limits.registrations;
  try {
    return store::create_webhook(
        call.session,
        {call.caller.id, std::move(registration.url), registration.events, std::move(registration.secret)},
        call.keys, limit);
  } catch (const store::TooManyRegistrations& refused) {
    throw too_many_registrations(limit, refused.retry_after_s);
  }
}

}  // namespace

Response register_webhook(const Call& call) {
  const auto created = create(call, webhook::parse_registration(call.body, call.overrides));
  if (!created) throw BadRequest(std::string(webhook::too_many_webhooks_message));
  return json_response(201, created_webhook(*created));
}

}  // namespace api
