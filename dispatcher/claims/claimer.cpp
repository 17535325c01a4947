#include "dispatcher/claims/claimer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "dispatcher/schedule/paused_rest.hpp"
#include "dispatcher/schedule/waits.hpp"
#include "lib/store/session/isolate.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned webhooks_per_claim = 64;
constexpr unsigned deliveries_per_claim = 512;
constexpr auto not_receiving_wait = 1s;  // a webhook that may not receive is not looked at before this time

/// Tells the ready set and the slots how far each webhook was claimed.
void note_claimed(ReadyWebhooks& ready, FairSlots& slots, const std::vector<store::ClaimRequest>& requests,
                  const store::Claim& claim) {
  const auto now = monotonic_now();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& reach = claim.reached[i];
    if (reach.unreadable > 0) ready.note_left(reach.webhook);
    if (!reach.skipped && reach.found == requests[i].limit) {
      ready.advance(reach.webhook, reach.last);
      continue;
    }
    slots.stop_waiting(reach.webhook);
    if (reach.skipped) {
      ready.postpone(reach.webhook, now + locked_wait);
    } else {
      ready.finished(reach.webhook, now);
    }
  }
}

/// Suspends, in the ready set, those of `ids` that `receiving` lacks: they may not receive. Postpones
/// webhooks that rest, and removes them from `receiving`. Returns true if it suspended or postponed any.
bool suspend_who_cannot(ReadyWebhooks& ready, FairSlots& slots, const std::vector<delivery::WebhookId>& ids,
                        std::vector<store::ReceivingWebhook>& receiving) {
  const auto now = monotonic_now();
  std::set<delivery::WebhookId> gone(ids.begin(), ids.end());
  for (const auto& webhook : receiving) gone.erase(webhook.target.webhook);
  for (const auto id : gone) {
    slots.stop_waiting(id);
    ready.suspend(id, now + not_receiving_wait);
  }
  const auto resting = std::erase_if(receiving, [&](const auto& webhook) {
    if (webhook.rest.count() == 0) return false;
    slots.stop_waiting(webhook.target.webhook);
    ready.postpone(webhook.target.webhook,
                   now + std::min<platform::Milliseconds>(webhook.rest, longest_rest));
    return true;
  });
  return !gone.empty() || resting > 0;
}

std::vector<store::ClaimRequest> plan_claims(const FairSlots::NextWebhooks& candidates,
                                             const ReadyWebhooks& ready, const FairSlots& slots,
                                             Grants& grants) {
  std::vector<store::ClaimRequest> requests;
  for (const auto& [webhook, count] : share_out(slots, candidates, deliveries_per_claim, grants))
    requests.push_back({webhook, count, ready.after(webhook)});
  return requests;
}

}  // namespace

std::vector<delivery::WebhookId> Claimer::take_due() {
  for (const auto webhook : ready_.webhooks.take_due(monotonic_now())) {
    if (slots_.identified(webhook)) {
      slots_.wait(webhook);
    } else {
      unidentified_.push_back(webhook);
    }
  }
  const auto count = std::min<std::size_t>(unidentified_.size(), webhooks_per_claim);
  return {unidentified_.begin(), unidentified_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void Claimer::claim(LeasedBatch& into) {
  auto& ready = ready_.webhooks;
  const auto unidentified = take_due();
  auto candidates = slots_.next(webhooks_per_claim);
  candidates.webhooks.insert(candidates.webhooks.end(), unidentified.begin(), unidentified.end());
  if (candidates.webhooks.empty()) return;
  auto receiving = store::load_receiving(session_, candidates.webhooks);
  rest_paused(ready_.paused_parts, receiving);
  unidentified_.erase(unidentified_.begin(),
                      unidentified_.begin() + static_cast<std::ptrdiff_t>(unidentified.size()));
  into.worked = suspend_who_cannot(ready, slots_, candidates.webhooks, receiving) || !unidentified_.empty();
  candidates.webhooks.clear();
  for (const auto& webhook : receiving) {
    slots_.identify(destination_of(webhook));
    slots_.wait(webhook.target.webhook);
    candidates.webhooks.push_back(webhook.target.webhook);
  }
  const auto requests = plan_claims(candidates, ready, slots_, into.grants);
  if (requests.empty()) return;
  into.leased_at = monotonic_now();
  store::isolate(
      requests, [&](const std::vector<store::ClaimRequest>& part) { claim_part(part, into); },
      [&](const store::ClaimRequest& request, const store::DatabaseError& error) {
        slots_.stop_waiting(request.webhook);
        ready.postpone(request.webhook, monotonic_now() + refused_wait);
        log_.error("the database refuses to lease deliveries of a webhook; the others go on",
                   {{"task", "claim"}, {"webhook", request.webhook}, {"error", error.what()}});
      });
}

void Claimer::claim_part(const std::vector<store::ClaimRequest>& requests, LeasedBatch& into) {
  auto claimed = store::claim(session_, requests, leases_.next());
  note_claimed(ready_.webhooks, slots_, requests, claimed);
  std::size_t unreadable = 0;
  for (const auto& reach : claimed.reached) unreadable += reach.unreadable;
  into.worked = into.worked || unreadable > 0;
  expired_.add(claimed.leased.expired);
  into.add(std::move(claimed.leased), log_);
  for_newer_.add(unreadable);
}

void Claimer::report(bool stopping) {
  const auto now = monotonic_now();
  if (const auto expired = expired_.take_if_due(now, stopping))
    log_.warning("deliveries cancelled: their notifications have expired (caduca_en)",
                 {{"deliveries", *expired}});
  if (const auto tries = for_newer_.take_if_due(now, stopping))
    log_.info(
        "deliveries left to a newer version of the dispatcher: this one does not know their event, or their "
        "date or the size of their data is wrong",
        {{"tries", *tries}});
}

}  // namespace dispatcher
