#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/webhook_detail.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"

namespace api {
namespace {

bool remove(const Call& call, store::WebhookId id) {
  const store::Author author{call.caller.id, call.caller.token};
  if (!call.preconditions.any()) return store::delete_webhook(call.session, author, id);
  std::string etag;
  const auto removed = store::delete_expected_webhook(
      call.session, author, id,
      [&](const store::WebhookDetail& now) { return are_met(call.preconditions, etag = etag_of(now)); });
  if (removed == store::WebhookChanged::precondition_failed) throw unmet(call.preconditions, etag);
  return removed == store::WebhookChanged::done;
}

}  // namespace

Response delete_webhook(const Call& call) {
  const std::optional<store::WebhookId> id = parse_id(call.parameters[0]);
  if (!id || !remove(call, *id)) throw no_such_webhook();
  return message_response(200, "Webhook " + to_string(*id) + " eliminado");
}

}  // namespace api
