#include "lib/store/deliveries/former_urls.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/delivery/classify.hpp"
#include "lib/store/deliveries/executions.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/types.hpp"

namespace store {

namespace {

constexpr std::string_view urls_by_id = "SELECT id, url FROM webhooks FORCE INDEX (PRIMARY) WHERE id IN";

/// The present URLs of the webhooks with failed attempts, by id. First locks their executions, which hold the
/// failure streaks. An entity may change a URL at the same time, and this transaction may still read the
/// former URL and write the failure to the streak. Then apply_changes (lib/store/webhooks/changes.hpp), which
/// needs the same lock, applies the change after this transaction and ends that streak. A missing row is
/// made, so that there is one to lock.
std::map<WebhookId, std::string> current_urls(Session& session, const ResultBatch& batch) {
  std::set<WebhookId> failed;  // by id: every session locks in the same order
  for (const auto* result : batch) {
    if (!result->url.empty()) failed.insert(result->webhook);
  }
  std::map<WebhookId, std::string> urls;
  if (failed.empty()) return urls;
  const std::vector<WebhookId> ids{failed.begin(), failed.end()};
  lock_executions(session, ids);
  for (const auto& row : query_ids(session, urls_by_id, ids, ""))
    urls.emplace(row.integer("id"), row.text("url"));
  return urls;
}

}  // namespace

JudgedUrls judge_urls(Session& session, const ResultBatch& batch) {
  const auto urls = current_urls(session, batch);
  JudgedUrls judged;
  for (const auto* result : batch) {
    const auto now = urls.find(result->webhook);
    const bool former = !result->url.empty() && now != urls.end() && now->second != result->url;
    judged.batch.push_back(former ? &judged.former.emplace_back(delivery::of_former_url(*result)) : result);
  }
  return judged;
}

}  // namespace store
