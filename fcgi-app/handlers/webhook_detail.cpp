#include "fcgi-app/handlers/webhook_detail.hpp"

#include <algorithm>

#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/response.hpp"
#include "platform/text.hpp"

namespace api {

std::string etag_of(const store::WebhookDetail& detail) { return '"' + store::version_of(detail) + '"'; }

bool is_expected(const std::optional<std::string>& if_match, std::string_view etag) {
  if (!if_match) return true;
  auto tags = platform::trim(*if_match, platform::http_white_space);
  if (tags == "*") return true;
  while (!tags.empty()) {  // our tags have no comma
    const auto end = std::min(tags.find(','), tags.size());
    if (platform::trim(tags.substr(0, end), platform::http_white_space) == etag) return true;
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  return false;
}

Response detail_response(const store::WebhookDetail& detail,
                         const std::optional<store::FailureStreak>& streak) {
  const auto& webhook = detail.webhook;
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
