#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/response.hpp"

namespace api {

Response delete_webhook(const Call& call) {
  const auto id = parse_id(call.parameters[0]);
  if (!id || !store::delete_webhook(call.session, {call.caller.id, call.caller.token}, *id))
    throw no_such_webhook();
  return message_response(200, "Webhook " + std::to_string(*id) + " eliminado");
}

}  // namespace api
