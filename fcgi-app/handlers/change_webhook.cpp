#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/webhook_detail.hpp"
#include "fcgi-app/http/errors.hpp"
#include "lib/webhook/request_bodies.hpp"

namespace api {
namespace {

store::ChangedWebhook change(const Call& call, store::WebhookId id, webhook::WebhookPatch patch) {
  std::string etag;
  const auto expected = [&](const store::WebhookDetail& now) {
    return are_met(call.preconditions, etag = etag_of(now));
  };
  auto changed =
      store::change_webhook(call.session, {call.caller.id, call.caller.token}, id,
                            {std::move(patch.url), patch.events, patch.active, std::move(patch.name)},
                            expected, {call.limits.registrations, call.disable_after});
  if (changed.result == store::WebhookChanged::precondition_failed) throw unmet(call.preconditions, etag);
  return changed;
}

}  // namespace

Response change_webhook(const Call& call) {
  auto patch = webhook::parse_patch(call.body, call.overrides);
  const auto id = own_webhook(call).id;
  const auto changed = change(call, id, std::move(patch));
  switch (changed.result) {
    case store::WebhookChanged::done:
    case store::WebhookChanged::precondition_failed:  // change() has thrown
      break;
    case store::WebhookChanged::not_found:
      throw no_such_webhook();
    case store::WebhookChanged::operator_disabled:
      throw Conflict("El operador ha desactivado el webhook y solo él puede reactivarlo");
    case store::WebhookChanged::url_disabled:
      throw Conflict("url: el operador la ha desactivado para la entidad y solo él puede reactivarla");
    case store::WebhookChanged::name_taken:
      throw name_taken();
  }
  return detail_response(changed.now.value(), changed.streak);
}

}  // namespace api
