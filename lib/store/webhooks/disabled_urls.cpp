#include "lib/store/webhooks/disabled_urls.hpp"

#include <algorithm>

#include "lib/webhook/target_url.hpp"

namespace store {

namespace {

constexpr std::string_view filtered_urls = R"sql(
  SELECT * FROM (
    SELECT entidad_id, url, webhook_id, CAST(desactivada_en AS CHAR) AS desactivada_en FROM urls_desactivadas
    WHERE (? IS NULL OR entidad_id = ?) AND (? IS NULL OR webhook_id = ?) AND (? IS NULL OR desactivada_en >= ?)
    ORDER BY desactivada_en DESC, url DESC LIMIT ?) newest
  ORDER BY desactivada_en, url)sql";
constexpr std::string_view urls_of_entity = "SELECT url FROM urls_desactivadas WHERE entidad_id = ?";
constexpr std::string_view note_url = R"sql(
  INSERT INTO urls_desactivadas (entidad_id, url, webhook_id)
  SELECT entidad_id, url, id FROM webhooks WHERE id = ? AND plaza IS NOT NULL
  ON DUPLICATE KEY UPDATE webhook_id = VALUES(webhook_id))sql";
constexpr std::string_view lift_url = "DELETE FROM urls_desactivadas WHERE entidad_id = ? AND url = ?";

std::vector<std::string> disabled_urls_of(Session& session, EntityId entity) {
  std::vector<std::string> urls;
  for (const auto& row : session.query(urls_of_entity, entity)) urls.push_back(row.text("url"));
  return urls;
}

}  // namespace

std::vector<DisabledUrl> list_disabled_urls(Session& session, const ListFilter& filter) {
  std::vector<DisabledUrl> result;
  for (const auto& row : session.query(filtered_urls, filter.entity, filter.entity, filter.webhook,
                                       filter.webhook, filter.since, filter.since, filter.limit))
    result.push_back(
        {row.integer("entidad_id"), row.text("url"), row.integer("webhook_id"), row.time("desactivada_en")});
  return result;
}

bool is_disabled(const std::vector<std::string>& disabled, std::string_view url) {
  const auto target = webhook::comparable_url(url);
  return std::ranges::any_of(
      disabled, [&](const std::string& other) { return webhook::comparable_url(other) == target; });
}

bool is_disabled_url(Session& session, EntityId entity, std::string_view url) {
  return is_disabled(disabled_urls_of(session, entity), url);
}

void note_disabled_url(Session& session, WebhookId webhook) { session.update(note_url, webhook); }

std::uint64_t lift_disabled_url(Session& session, EntityId entity, std::string_view url) {
  std::uint64_t lifted = 0;
  for (const auto& other : disabled_urls_of(session, entity)) {
    if (is_disabled({other}, url)) lifted += session.update(lift_url, entity, other);
  }
  return lifted;
}

}  // namespace store
