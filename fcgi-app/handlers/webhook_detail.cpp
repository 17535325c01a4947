#include "fcgi-app/handlers/webhook_detail.hpp"

#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/response.hpp"
#include "platform/text.hpp"
#include "store/webhooks/failing.hpp"
#include "webhook/crypto.hpp"

namespace api {

std::string etag_of(const store::WebhookDetail& detail) {
  const auto& webhook = detail.webhook;
  constexpr std::size_t digits = 32;
  // Neither a URL nor the names have a line's end.
  const std::string version = std::to_string(webhook.id) + '\n' + webhook.url + '\n' +
                              webhook.events.joined() + '\n' +
                              (webhook.active ? "activo" : webhook.inactive_reason.value_or("")) + '\n' +
                              (detail.has_secret ? "secreto" : "") + '\n' +
                              (detail.modified ? platform::format_iso8601(*detail.modified) : "");
  return '"' + webhook::crypto::to_hex(webhook::crypto::sha256(version)).substr(0, digits) + '"';
}

bool is_expected(std::string_view if_match, std::string_view etag) {
  if_match = platform::trim(if_match, platform::http_white_space);
  if (if_match.empty() || if_match == "*") return true;
  while (!if_match.empty()) {  // our tags have no comma
    const auto end = std::min(if_match.find(','), if_match.size());
    if (platform::trim(if_match.substr(0, end), platform::http_white_space) == etag) return true;
    if_match.remove_prefix(std::min(end + 1, if_match.size()));
  }
  return false;
}

Response detail_response(const Call& call, const store::WebhookDetail& detail) {
  const auto& webhook = detail.webhook;
  const auto streak = store::find_failure_streak(call.session, webhook.id, call.disable_after);
  auto shown = listed_webhook(webhook);
  shown.emplace_back("motivo", webhook.inactive_reason);
  shown.emplace_back("fallaDesde", time_or_null(streak ? std::optional(streak->since) : std::nullopt));
  shown.emplace_back("desactivacion", time_or_null(streak ? streak->deactivation : std::nullopt));
  shown.emplace_back("tieneSecreto", detail.has_secret);
  shown.emplace_back("secretoAnteriorHasta", time_or_null(detail.previous_until));
  shown.emplace_back("fechaModificacion", time_or_null(detail.modified.value_or(webhook.created)));
  auto response = json_response(200, std::move(shown));
  response.headers.push_back({"ETag", etag_of(detail)});
  return response;
}

}  // namespace api
