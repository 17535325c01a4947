#include "fcgi-app/handlers/webhook_detail.hpp"

#include <algorithm>

#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/signature.hpp"

namespace api {

namespace {

/// `weakly`: `W/"x"` matches "x" too (RFC 9110 section 8.8.3.2).
bool names(std::string_view header, std::string_view etag, bool weakly) {
  auto tags = text::trim(header, text::http_white_space);
  if (tags == "*") return true;
  while (!tags.empty()) {  // our tags have no comma
    const auto end = std::min(tags.find(','), tags.size());
    auto tag = text::trim(tags.substr(0, end), text::http_white_space);
    if (weakly && tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag) return true;
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  return false;
}

/// Whether the header has nothing that can be an ETag of ours: each is text in double quotes, without `W/`.
bool has_no_tag(std::string_view header) {
  while (!header.empty()) {
    const auto end = std::min(header.find(','), header.size());
    const auto tag = text::trim(header.substr(0, end), text::http_white_space);
    if (tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"')) return false;
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return true;
}

std::string unverifiable_notice() {
  return "Aviso: " + std::string(webhook::unverifiable_secret) +
         ". Cámbielo por uno hecho con: " + std::string(webhook::good_secret_command);
}

}  // namespace

std::string etag_of(const store::WebhookDetail& detail) { return '"' + store::version_of(detail) + '"'; }

bool are_met(const Preconditions& conditions, std::string_view etag) {
  if (conditions.if_match && !names(*conditions.if_match, etag, false)) return false;
  return !conditions.if_none_match || !names(*conditions.if_none_match, etag, true);
}

PreconditionFailed unmet(const Preconditions& conditions, std::string_view etag) {
  if (!conditions.if_match || names(*conditions.if_match, etag, false))
    return PreconditionFailed::excluded_version();
  return has_no_tag(*conditions.if_match) ? PreconditionFailed::no_etag()
                                          : PreconditionFailed::another_version();
}

Response detail_response(const store::WebhookDetail& detail,
                         const std::optional<store::FailureStreak>& streak) {
  const auto& webhook = detail.webhook;
  auto shown = listed_webhook(webhook);
  shown.emplace_back("nombre", webhook.name);
  shown.emplace_back("motivo", webhook.inactive_reason);
  shown.emplace_back("inactivoDesde", time_or_null(detail.inactive_since));
  shown.emplace_back("fallaDesde", time_or_null(streak ? std::optional(streak->since) : std::nullopt));
  shown.emplace_back("desactivacion", time_or_null(streak ? streak->deactivation : std::nullopt));
  shown.emplace_back("tieneSecreto", detail.has_secret);
  shown.emplace_back("secretoDebil", detail.weak_secret);
  shown.emplace_back("avisoSecreto",
                     detail.unverifiable_secret ? std::optional(unverifiable_notice()) : std::nullopt);
  shown.emplace_back("secretoAnteriorHasta", time_or_null(detail.previous_until));
  shown.emplace_back("certificadoCaduca", time_or_null(detail.certificate_end));
  shown.emplace_back("fechaModificacion", time_or_null(detail.modified.value_or(webhook.created)));
  auto response = json_response(200, std::move(shown));
  response.headers.push_back({"ETag", etag_of(detail)});
  return response;
}

}  // namespace api
