#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/http/response.hpp"

namespace api {

Response list_webhooks(const Call& call) {
  json::Array list;
  list.reserve(call.caller.webhooks.size());
  for (const store::Webhook& webhook : call.caller.webhooks) list.emplace_back(listed_webhook(webhook));
  return json_response(200, std::move(list));
}

}  // namespace api
