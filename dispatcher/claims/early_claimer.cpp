#include "dispatcher/claims/early_claimer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "dispatcher/scan/paused_rest.hpp"
#include "dispatcher/schedule/waits.hpp"
#include "lib/store/session/isolate.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr std::size_t webhooks_at_once = 64;
constexpr auto error_wait = 1s;
constexpr auto left_wait = 30s;  // a webhook left to a newer release is looked at again after this time

/// If an exception ends the claim, the webhooks are due again a second later.
void expect_error(EarlyWebhooks& early, const std::vector<store::EarlyWebhook>& webhooks) {
  for (const auto& webhook : webhooks) early.postpone(webhook.id, monotonic_now() + error_wait);
}

std::vector<delivery::WebhookId> ids_of(const std::vector<store::EarlyWebhook>& webhooks) {
  std::vector<delivery::WebhookId> ids;
  ids.reserve(webhooks.size());
  for (const auto& webhook : webhooks) ids.push_back(webhook.id);
  return ids;
}

/// Reads `webhooks` again, and removes those that may not be tried now or have changed. Returns the webhooks
/// that may receive.
std::map<delivery::WebhookId, store::ReceivingWebhook> keep_receiving(
    store::Session& session, QueueScanner& scanner, std::vector<store::EarlyWebhook>& webhooks) {
  auto& early = scanner.early();
  auto loaded = store::load_receiving(session, ids_of(webhooks));
  rest_paused(scanner.paused_parts(), loaded);
  std::map<delivery::WebhookId, store::ReceivingWebhook> receiving;
  for (auto& webhook : loaded) receiving.emplace(webhook.target.webhook, std::move(webhook));
  std::vector<store::EarlyChange> ended;
  std::erase_if(webhooks, [&](const store::EarlyWebhook& webhook) {
    const auto found = receiving.find(webhook.id);
    const bool receives = found != receiving.end();
    if (receives && found->second.rest.count() > 0) {
      early.postpone(webhook.id,
                     monotonic_now() + std::min<platform::Milliseconds>(found->second.rest, longest_rest));
      return true;
    }
    if (receives && found->second.early_since == webhook.since && found->second.failing == webhook.failing)
      return false;
    early.forget(webhook.id);  // the scanner finds a changed webhook again
    if (!receives) ended.push_back({webhook, std::nullopt});
    return true;
  });
  store::change_early(session, ended);
  return receiving;
}

}  // namespace

void EarlyClaimer::claim(LeasedBatch& into) {
  if (slots_.full()) return;
  into.leased_at = monotonic_now();
  claim_recovering(into);
  claim_probes(into);
}

void EarlyClaimer::claim_recovering(LeasedBatch& into) {
  auto& early = scanner_.early();
  auto webhooks = early.next(webhooks_at_once, monotonic_now());
  if (webhooks.empty()) return;
  expect_error(early, webhooks);
  const auto receiving = keep_receiving(session_, scanner_, webhooks);
  std::map<delivery::WebhookId, store::EarlyWebhook> requested;
  std::vector<store::EarlyRequest> requests;
  for (const auto& webhook : webhooks) {
    const auto room = early.room(webhook.id);
    unsigned granted = 0;
    while (granted < room && into.grants.take_new(destination_of(receiving.at(webhook.id)))) ++granted;
    if (granted == 0) {
      early.postpone(webhook.id, monotonic_now() + no_slot_wait);
      continue;
    }
    requests.push_back({webhook.id, granted, early.after(webhook.id)});
    requested.emplace(webhook.id, webhook);
  }
  std::vector<store::EarlyChange> done;
  store::isolate(
      requests,
      [&](const std::vector<store::EarlyRequest>& part) {
        auto claimed = store::claim_early(session_, part, leases_.next());
        std::map<delivery::WebhookId, unsigned> leased;
        for (const auto& delivery : claimed.leased.deliveries) ++leased[delivery.webhook];
        for (const auto& reach : claimed.reached) {
          if (early.reached(reach, leased[reach.webhook], monotonic_now()))
            done.push_back({requested.at(reach.webhook), std::nullopt});
        }
        into.add(std::move(claimed.leased), log_);
      },
      [&](const store::EarlyRequest& request, const store::DatabaseError& error) {
        refused(request.webhook, error);
      });
  store::change_early(session_, done);
}

void EarlyClaimer::claim_probes(LeasedBatch& into) {
  auto& early = scanner_.early();
  if (probe_interval_.count() == 0) return;
  auto webhooks = early.next_probes(webhooks_at_once, monotonic_now());
  if (webhooks.empty()) return;
  expect_error(early, webhooks);
  const auto receiving = keep_receiving(session_, scanner_, webhooks);
  std::erase_if(webhooks, [&](const store::EarlyWebhook& webhook) {
    if (into.grants.take_new(destination_of(receiving.at(webhook.id)))) return false;
    early.postpone(webhook.id, monotonic_now() + no_slot_wait);
    return true;
  });
  store::isolate(
      webhooks,
      [&](const std::vector<store::EarlyWebhook>& part) {
        auto claimed = store::claim_probes(session_, part, probe_interval_, leases_.next());
        for (const auto id : claimed.left) early.postpone(id, monotonic_now() + left_wait);
        for (const auto& webhook : part) {
          if (std::ranges::find(claimed.left, webhook.id) == claimed.left.end()) early.forget(webhook.id);
        }
        for (const auto& delivery : claimed.leased.deliveries) early.probing(delivery.webhook);
        into.add(std::move(claimed.leased), log_);
      },
      [&](const store::EarlyWebhook& webhook, const store::DatabaseError& error) {
        refused(webhook.id, error);
      });
}

void EarlyClaimer::refused(delivery::WebhookId webhook, const store::DatabaseError& error) {
  scanner_.early().postpone(webhook, monotonic_now() + refused_wait);
  log_refused_lease(log_, "early claim", webhook, error);
}

}  // namespace dispatcher
