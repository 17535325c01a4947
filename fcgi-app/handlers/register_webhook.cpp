#include <algorithm>
#include <utility>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/webhook/request_bodies.hpp"

namespace api {
namespace {

constexpr std::size_t max_key_characters = 64;

bool is_visible(char c) { return c > ' ' && c <= '~'; }

void require_key(std::string_view key) {
  if (key.empty() || key.size() > max_key_characters || !std::ranges::all_of(key, is_visible))
    throw BadRequest(
        "Idempotency-Key: debe enviarse una sola vez y tener de 1 a 64 caracteres ASCII visibles, sin "
        "espacios");
}

std::string answer_of(const store::Webhook& created) { return json::dump(created_webhook(created)); }

/// Returns the body of the earlier request's 201, or throws the reason why there is none.
std::string answer_again(store::EarlierRequest&& earlier) {
  switch (earlier.result) {
    case store::EarlierResult::same:
      break;
    case store::EarlierResult::another_body:
      throw UnprocessableContent(
          "Esta Idempotency-Key ya se ha usado con otro cuerpo: use otra para otro registro");
    case store::EarlierResult::webhook_deleted:
      throw Conflict(
          "El webhook que se registró con esta Idempotency-Key se ha eliminado: use otra para registrar uno "
          "nuevo");
    case store::EarlierResult::cannot_tell:
      throw Conflict(
          "Ya no puede comprobarse si el cuerpo es el que se envió con esta Idempotency-Key: consulte la "
          "lista "
          "de webhooks y, si falta, use otra");
  }
  return std::move(earlier.answer);
}

}  // namespace

Response register_webhook(const Call& call) {
  const auto& key = call.idempotency_key;
  if (key) require_key(*key);
  auto registration = webhook::parse_registration(call.body, call.overrides);
  const store::NewWebhook wanted{call.caller.id,      std::move(registration.url),
                                 registration.events, std::move(registration.secret),
                                 call.caller.token,   std::move(registration.name)};
  std::optional<store::IdempotentRequest> request;
  if (key) request = {call.caller.id, *key, call.body, answer_of};
  auto made = store::create_webhook(call.session, wanted, call.keys, call.limits.registrations, request);
  if (made.earlier) return {201, answer_again(std::move(*made.earlier))};
  if (made.name_taken) throw name_taken();
  if (!made.webhook) throw BadRequest(std::string(webhook::too_many_webhooks_message));
  return {201, answer_of(*made.webhook)};
}

}  // namespace api
