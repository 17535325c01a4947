#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/webhook_detail.hpp"

namespace api {

Response show_webhook(const Call& call) {
  const auto detail = store::find_detail(call.session, call.caller.id, own_webhook(call).id);
  if (!detail) throw no_such_webhook();  // deleted after the caller's webhooks were read
  return detail_response(*detail,
                         store::find_failure_streak(call.session, detail->webhook.id, call.disable_after));
}

}  // namespace api
