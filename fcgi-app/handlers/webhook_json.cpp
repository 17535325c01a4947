#include "fcgi-app/handlers/webhook_json.hpp"

#include "lib/platform/clock.hpp"
#include "lib/webhook/event_names.hpp"

namespace api {

json::Value time_or_null(const std::optional<store::UtcTime>& time) {
  if (!time) return {};
  return platform::format_iso8601(*time);
}

json::Object created_webhook(const store::Webhook& webhook) {
  json::Object object;
  object.reserve(8);  // room for the members that listed_webhook adds
  object.emplace_back("id", webhook.id);
  object.emplace_back("url", webhook.url);
  object.emplace_back("eventos", webhook::event_names(webhook.events));
  object.emplace_back("activo", webhook.active);
  object.emplace_back("fechaAlta", platform::format_iso8601(webhook.created));
  return object;
}

json::Object listed_webhook(const store::Webhook& webhook) {
  json::Object object = created_webhook(webhook);
  object.emplace_back("ultimaEjecucion", time_or_null(webhook.last_execution));
  object.emplace_back("ultimoEstado", webhook.last_status);
  object.emplace_back("ultimoError", webhook.last_error);
  return object;
}

}  // namespace api
