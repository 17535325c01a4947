#include "lib/store/webhooks/deactivation.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store {

namespace {

constexpr std::string_view webhooks_by_id = "SELECT id FROM webhooks FORCE INDEX (PRIMARY) WHERE id IN";

constexpr std::string_view deactivate_webhook = R"sql(
  UPDATE webhooks SET activo = FALSE, motivo = ?, desactivado_en = UTC_TIMESTAMP(3)
  WHERE id = ? AND activo AND plaza IS NOT NULL AND (? IS NULL OR url = ?))sql";

struct Reason {
  std::string_view name;
  std::optional<std::string> url{};  // only if the webhook still has this URL
};

/// Judges each webhook again under the lock: its entity may just have activated it or changed its URL, which
/// ends the streak.
std::vector<WebhookId> lock_failing(Session& session, const std::vector<WebhookId>& failed,
                                    platform::Milliseconds disable_after) {
  auto due = find_due_for_deactivation(session, failed, disable_after);  // nearly always empty
  return find_due_for_deactivation(session, lock_webhooks(session, std::move(due)), disable_after);
}

}  // namespace

std::vector<WebhookId> lock_webhooks(Session& session, std::vector<WebhookId> webhooks) {
  std::ranges::sort(webhooks);  // every session locks in the same order
  return ids_in<WebhookId>(query_ids(session, webhooks_by_id, webhooks, "FOR UPDATE SKIP LOCKED"));
}

std::vector<WebhookId> deactivate(Session& session, const std::vector<GoneWebhook>& gone,
                                  const std::vector<WebhookId>& failed,
                                  platform::Milliseconds disable_after) {
  std::map<WebhookId, Reason> reasons;
  for (const auto webhook : lock_failing(session, failed, disable_after))
    reasons[webhook] = {disabled_by_failures};
  for (const auto& [webhook, url] : gone) reasons[webhook] = {disabled_by_gone, url};
  std::vector<WebhookId> deactivated;
  for (const auto& [webhook, reason] : reasons) {
    if (session.update(without_waiting<deactivate_webhook>, reason.name, webhook, reason.url, reason.url) ==
        1)
      deactivated.push_back(webhook);
  }
  return deactivated;
}

}  // namespace store
