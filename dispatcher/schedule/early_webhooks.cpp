#include "dispatcher/schedule/early_webhooks.hpp"

#include <algorithm>

#include "dispatcher/schedule/waits.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

/// Time for maintenance to recover a lease that has expired.
constexpr auto lease_margin = 5s;
/// How long a webhook is remembered after failed() has stopped its recovery. By then the failure is recorded
/// in the database.
constexpr auto stopped_remembered = 1min;

}  // namespace

void EarlyWebhooks::found(const store::EarlyWebhook& webhook, platform::MonotonicTime now) {
  const auto [at, is_new] = webhooks_.try_emplace(webhook.id);
  auto& entry = at->second;
  if (!is_new && webhook.since <= entry.since) return;
  unlist(webhook.id, entry);
  entry.failing = webhook.failing;
  entry.since = webhook.since;
  entry.after = 0;
  entry.delivered = 0;
  entry.none_waited = entry.passed_over = entry.stopped = false;
  list(webhook.id, entry, now);
}

std::vector<store::EarlyWebhook> EarlyWebhooks::next(std::size_t most, platform::MonotonicTime now) {
  std::vector<store::EarlyWebhook> result;
  while (result.size() < most && !by_time_.empty() && by_time_.begin()->first <= now) {
    const auto id = by_time_.begin()->second;
    auto& entry = webhooks_.at(id);
    unlist(id, entry);
    if (entry.stopped) {
      webhooks_.erase(id);
    } else {
      result.push_back({entry.since, id, false});
    }
  }
  return result;
}

std::vector<store::EarlyWebhook> EarlyWebhooks::next_probes(std::size_t most, platform::MonotonicTime now) {
  std::vector<store::EarlyWebhook> result;
  const auto room = std::min<std::size_t>(most, limits_.probes - std::min(limits_.probes, probing_));
  while (!later_probes_.empty() && later_probes_.begin()->first <= now) {
    const auto id = later_probes_.begin()->second;
    later_probes_.erase(later_probes_.begin());
    probes_.insert({webhooks_.at(id).since, id, true});
  }
  while (!probes_.empty() && result.size() < room) {
    const auto webhook = *probes_.begin();
    unlist(webhook.id, webhooks_.at(webhook.id));
    result.push_back(webhook);
  }
  return result;
}

unsigned EarlyWebhooks::room(delivery::WebhookId webhook) const {
  const auto found = webhooks_.find(webhook);
  if (found == webhooks_.end()) return 0;
  const auto& entry = found->second;
  const unsigned limit = std::min(limits_.per_webhook, entry.delivered + 1);
  return limit - std::min(limit, entry.in_hand);
}

delivery::DeliveryId EarlyWebhooks::after(delivery::WebhookId webhook) const {
  const auto found = webhooks_.find(webhook);
  return found == webhooks_.end() ? 0 : found->second.after;
}

bool EarlyWebhooks::reached(const store::EarlyClaim::Reach& reach, unsigned leased,
                            platform::MonotonicTime now) {
  const auto found = webhooks_.find(reach.webhook);
  if (found == webhooks_.end()) return false;
  auto& entry = found->second;
  entry.in_hand += leased;
  if (entry.stopped) return false;
  unlist(reach.webhook, entry);
  if (reach.skipped) {
    list(reach.webhook, entry, now + locked_wait);
    return false;
  }
  entry.after = reach.more ? reach.last : 0;
  const bool passed_over = entry.passed_over || reach.asked || reach.unreadable;
  entry.passed_over = reach.more && passed_over;
  const bool none = !reach.more && leased == 0 && entry.in_hand == 0 && !passed_over;
  if (none && entry.none_waited) {
    webhooks_.erase(found);
    return true;
  }
  entry.none_waited = none;
  if (reach.more) {
    // Without room, ended() lists the webhook again.
    if (room(reach.webhook) > 0) list(reach.webhook, entry, now);
  } else {
    const auto until_again = limits_.lease + lease_margin;
    list(reach.webhook, entry,
         now + std::min<platform::Milliseconds>(reach.asked.value_or(until_again), until_again));
  }
  return false;
}

void EarlyWebhooks::postpone(delivery::WebhookId webhook, platform::MonotonicTime until) {
  if (const auto found = webhooks_.find(webhook); found != webhooks_.end() && !found->second.stopped)
    list(webhook, found->second, until);
}

void EarlyWebhooks::forget(delivery::WebhookId webhook) {
  const auto found = webhooks_.find(webhook);
  if (found == webhooks_.end()) return;
  unlist(webhook, found->second);
  webhooks_.erase(found);
}

void EarlyWebhooks::probing(delivery::WebhookId webhook) {
  forget(webhook);
  ++probing_;
}

void EarlyWebhooks::ended(delivery::WebhookId webhook, delivery::AttemptKind kind, bool delivered,
                          platform::MonotonicTime now) {
  if (kind == delivery::AttemptKind::probe) probing_ -= std::min(probing_, 1U);
  if (kind != delivery::AttemptKind::early) return;
  const auto found = webhooks_.find(webhook);
  if (found == webhooks_.end()) return;
  auto& entry = found->second;
  entry.in_hand -= std::min(entry.in_hand, 1U);
  if (entry.stopped) return;
  if (delivered) ++entry.delivered;
  if (!delivered) entry.after = 0;  // the delivery may be pending again, so reads from the start
  if (!delivered || !entry.listed || entry.after > 0) list(webhook, entry, now);
}

void EarlyWebhooks::failed(delivery::WebhookId webhook, platform::MonotonicTime now) {
  const auto found = webhooks_.find(webhook);
  if (found == webhooks_.end()) return;
  if (found->second.failing) return;
  found->second.stopped = true;
  list(webhook, found->second, now + stopped_remembered);
}

void EarlyWebhooks::list(delivery::WebhookId webhook, Entry& entry, platform::MonotonicTime time) {
  unlist(webhook, entry);
  entry.listed = time;
  if (entry.failing)
    later_probes_.emplace(time, webhook);
  else
    by_time_.emplace(time, webhook);
}

void EarlyWebhooks::unlist(delivery::WebhookId webhook, Entry& entry) {
  if (!entry.listed) return;
  if (entry.failing) {
    probes_.erase({entry.since, webhook, true});
    later_probes_.erase({*entry.listed, webhook});
  } else {
    by_time_.erase({*entry.listed, webhook});
  }
  entry.listed.reset();
}

}  // namespace dispatcher
