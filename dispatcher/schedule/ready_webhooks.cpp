#include "dispatcher/schedule/ready_webhooks.hpp"

#include <algorithm>
#include <utility>

#include "dispatcher/schedule/id_ranges.hpp"
#include "dispatcher/schedule/waits.hpp"

namespace dispatcher {

namespace {

using namespace std::chrono_literals;

constexpr platform::Milliseconds rounding{1};  // the database's times are in whole milliseconds
/// How long a webhook is remembered although none of its deliveries is known to wait. While it is, a claim
/// can begin at its position, behind the index entries of deliveries that were claimed before. The database
/// keeps these entries for as long as a backup holds a snapshot open.
constexpr auto remembered = 1min;

}  // namespace

/// Lists the webhook under the time when it is due or, if nothing waits, the time when it may be forgotten,
/// but never under a time before `not_before`.
void ReadyWebhooks::list(delivery::WebhookId webhook, Entry& entry) {
  if (entry.listed) by_time_.erase({*entry.listed, webhook});
  entry.listed =
      entry.due ? std::max(*entry.due, entry.not_before) : std::max(entry.forget_at, entry.not_before);
  by_time_.emplace(*entry.listed, webhook);
}

void ReadyWebhooks::found(const store::WaitingWebhook& webhook, platform::MonotonicTime now) {
  auto& entry = webhooks_[webhook.id];
  // A delivery written later may be due before the first one found, but not before this moment.
  const auto before_due = std::max(webhook.until, platform::Milliseconds::zero());
  entry.after = {webhook.first - before_due - rounding, 0};
  const bool told = entry.due && !entry.listed;
  entry.due = now + webhook.until + rounding;
  if (!told) list(webhook.id, entry);
}

void ReadyWebhooks::waits(delivery::WebhookId webhook, platform::MonotonicTime due) {
  auto& entry = webhooks_[webhook];
  if (entry.due && !entry.listed) return;
  entry.due = std::min(entry.due.value_or(due), due);
  list(webhook, entry);
}

void ReadyWebhooks::returned(delivery::WebhookId webhook, platform::MonotonicTime now) {
  auto& entry = webhooks_[webhook];
  if (!entry.left) entry.after = {};
  waits(webhook, now);
}

std::vector<delivery::WebhookId> ReadyWebhooks::take_due(platform::MonotonicTime now) {
  std::vector<delivery::WebhookId> result;
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const auto webhook = by_time_.begin()->second;
    by_time_.erase(by_time_.begin());
    const auto found = webhooks_.find(webhook);
    auto& entry = found->second;
    entry.listed.reset();
    if (entry.due) {
      result.push_back(webhook);
    } else {
      webhooks_.erase(found);
    }
  }
  return result;
}

store::DuePosition ReadyWebhooks::after(delivery::WebhookId webhook) const {
  const auto found = webhooks_.find(webhook);
  return found == webhooks_.end() ? store::DuePosition{} : found->second.after;
}

void ReadyWebhooks::note_left(delivery::WebhookId webhook) {
  if (const auto found = webhooks_.find(webhook); found != webhooks_.end()) found->second.left = true;
}

void ReadyWebhooks::advance(delivery::WebhookId webhook, const store::DuePosition& last) {
  if (const auto found = webhooks_.find(webhook); found != webhooks_.end()) found->second.after = last;
}

void ReadyWebhooks::finished(delivery::WebhookId webhook, platform::MonotonicTime now) {
  const auto found = webhooks_.find(webhook);
  if (found == webhooks_.end()) return;
  auto& entry = found->second;
  entry.due.reset();
  if (std::exchange(entry.left, false)) entry.not_before = now + refused_wait;
  entry.forget_at = now + remembered;
  list(webhook, entry);
}

void ReadyWebhooks::postpone(delivery::WebhookId webhook, platform::MonotonicTime until) {
  const auto found = webhooks_.find(webhook);
  if (found == webhooks_.end()) return;
  found->second.not_before = until;
  list(webhook, found->second);
}

void ReadyWebhooks::suspend(delivery::WebhookId webhook, platform::MonotonicTime until) {
  finished(webhook, until);
  postpone(webhook, until);
}

void ReadyWebhooks::look_again() {
  for (auto& [id, entry] : webhooks_)
    if (!entry.left) entry.after = {};
}

std::vector<store::IdRange> ReadyWebhooks::ranges(platform::MonotonicTime now) const {
  return ranges_between(webhooks_, [&](const Entry& entry) {
    return (entry.due && now >= *entry.due) || now < entry.not_before;
  });
}

}  // namespace dispatcher
