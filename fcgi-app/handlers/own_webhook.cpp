#include "fcgi-app/handlers/own_webhook.hpp"

#include <algorithm>

#include "lib/text/text.hpp"

namespace api {

std::optional<std::int64_t> parse_id(std::string_view text) {
  const auto id = text::parse_number<std::int64_t>(text);
  return id && *id > 0 && text.front() != '0' ? id : std::nullopt;
}

NotFound no_such_webhook() { return NotFound("No existe ningún webhook con ese identificador"); }

Conflict inactive_webhook() {
  return Conflict("El webhook está inactivo: actívelo antes con PATCH /apientidades/v1/webhooks/{id}");
}

Conflict name_taken() { return Conflict("nombre: ya lo tiene otro webhook de la entidad"); }

const store::Webhook& own_webhook(const Call& call) { return own_webhook(call, call.parameters[0]); }

const store::Webhook& own_webhook(const Call& call, std::string_view text) {
  const std::optional<store::WebhookId> id = parse_id(text);
  const auto& own = call.caller.webhooks;
  const auto found = id ? std::ranges::find(own, *id, &store::Webhook::id) : own.end();
  if (found == own.end()) throw no_such_webhook();
  return *found;
}

}  // namespace api
