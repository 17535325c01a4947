#include <optional>

#include "delivery/ids.hpp"
#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/response.hpp"
#include "platform/text.hpp"

namespace api {
namespace {

/// A positive 64-bit integer as the API writes it: no sign, no leading zero.
std::optional<delivery::WebhookId> parse_id(std::string_view text) {
  const auto id = platform::parse_number<delivery::WebhookId>(text);
  return id && *id > 0 && text.front() != '0' ? id : std::nullopt;
}

}  // namespace

Response delete_webhook(const Call& call) {
  const auto id = parse_id(call.parameter);
  // One answer for what never existed, is another entity's or cannot be an identifier: it tells nothing of
  // the others.
  if (!id || !store::delete_webhook(call.session, call.caller.id, *id))
    throw NotFound("No existe ningún webhook con ese identificador");
  return message_response(200, "Webhook " + std::to_string(*id) + " eliminado");
}

}  // namespace api
