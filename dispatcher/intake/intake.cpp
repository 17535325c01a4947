#include "dispatcher/intake/intake.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "dispatcher/schedule/waits.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned webhooks_per_claim = 64;
constexpr unsigned deliveries_per_claim = 512;
constexpr auto refused_wait = 5s;        // of a webhook whose deliveries the database refuses to lease
constexpr auto report_interval = 1min;   // of what is left to a newer version
constexpr auto longest_rest = 60s;       // before a resting webhook is looked at again
constexpr auto not_receiving_wait = 1s;  // before a webhook that may not receive is looked at again

/// Tells the ready set, and the slots, how far each webhook was claimed.
void note_claimed(ReadyWebhooks& ready, FairSlots& slots, const std::vector<store::ClaimRequest>& requests,
                  const store::Claim& claim) {
  const auto now = monotonic_now();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& reach = claim.reached[i];
    ready.note_left(reach.webhook, reach.unreadable > 0);
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

/// Takes those that rest, or may not receive at all, out of the ready set and of `receiving`. True: there
/// were some.
bool quarantine_who_cannot(ReadyWebhooks& ready, FairSlots& slots,
                           const std::vector<delivery::WebhookId>& ids,
                           std::vector<store::ReceivingWebhook>& receiving) {
  const auto now = monotonic_now();
  std::set<delivery::WebhookId> gone(ids.begin(), ids.end());
  for (const auto& webhook : receiving) gone.erase(webhook.target.webhook);
  for (const auto id : gone) {
    slots.stop_waiting(id);
    ready.quarantine(id, now + not_receiving_wait);
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

void rest_paused(PausedParts& paused, std::vector<store::ReceivingWebhook>& receiving) {
  const auto now = monotonic_now();
  for (auto& webhook : receiving) {
    const auto left = paused.left(webhook.entity, webhook.target.webhook, webhook.target.url, now);
    if (left.count() <= 0) continue;
    webhook.rest = std::max(webhook.rest, left);
    paused.put_off(webhook.target.webhook);
  }
}

Intake::Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics)
    : settings_(settings),
      log_(log),
      metrics_(metrics),
      random_(std::random_device{}()),
      quarantine_(log, metrics) {}

store::Lease Intake::new_lease() { return {random_(), settings_.lease}; }

/// Those of whom it is not known yet whose they are: their turn is not known either.
std::vector<delivery::WebhookId> Intake::take_due(ReadyWebhooks& ready, FairSlots& slots) {
  for (const auto webhook : ready.take_due(monotonic_now())) {
    if (slots.identified(webhook)) {
      slots.wait(webhook);
    } else {
      unidentified_.push_back(webhook);
    }
  }
  const auto count = std::min<std::size_t>(unidentified_.size(), webhooks_per_claim);
  return {unidentified_.begin(), unidentified_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void Intake::claim(store::Session& session, QueueScanner& scanner, FairSlots& slots, LeasedBatch& into) {
  auto& ready = scanner.webhooks();
  const auto unidentified = take_due(ready, slots);
  auto candidates = slots.next(webhooks_per_claim);
  candidates.webhooks.insert(candidates.webhooks.end(), unidentified.begin(), unidentified.end());
  if (candidates.webhooks.empty()) return;
  auto receiving = store::load_receiving(session, candidates.webhooks);
  rest_paused(scanner.paused_parts(), receiving);
  unidentified_.erase(unidentified_.begin(),
                      unidentified_.begin() + static_cast<std::ptrdiff_t>(unidentified.size()));
  into.worked = quarantine_who_cannot(ready, slots, candidates.webhooks, receiving) || !unidentified_.empty();
  candidates.webhooks.clear();
  for (const auto& webhook : receiving) {
    slots.identify(destination_of(webhook.target, webhook.entity, webhook.probing));
    slots.wait(webhook.target.webhook);
    candidates.webhooks.push_back(webhook.target.webhook);
  }
  const auto requests = plan_claims(candidates, ready, slots, into.grants);
  if (requests.empty()) return;
  into.leased_at = monotonic_now();
  store::isolate(
      requests,
      [&](const std::vector<store::ClaimRequest>& part) { claim_part(session, ready, slots, part, into); },
      [&](const store::ClaimRequest& request, const store::Refused& error) {
        slots.stop_waiting(request.webhook);
        ready.postpone(request.webhook, monotonic_now() + refused_wait);
        log_.error("the database refuses to lease deliveries of a webhook; the others go on",
                   {{"duty", "claim"}, {"webhook", request.webhook}, {"error", error.what()}});
      });
}

void Intake::claim_part(store::Session& session, ReadyWebhooks& ready, FairSlots& slots,
                        const std::vector<store::ClaimRequest>& requests, LeasedBatch& into) {
  auto claimed = store::claim(session, requests, new_lease());
  note_claimed(ready, slots, requests, claimed);
  std::size_t unreadable = 0;
  for (const auto& reach : claimed.reached) unreadable += reach.unreadable;
  into.worked = into.worked || unreadable > 0;
  take(std::move(claimed.leased), into);
  report_left("deliveries", unreadable);
}

void Intake::take(store::Leased leased, LeasedBatch& into) const {
  for (const auto id : leased.foreign)
    log_.error(
        "a delivery joined one entity's notification to another's webhook; it is cancelled (find out "
        "who wrote it)",
        {{"delivery", id}});
  into.worked = into.worked || !leased.deliveries.empty() || !leased.foreign.empty();
  for (auto& [webhook, target] : leased.targets) {
    auto host = webhook::host_and_port(target.url);
    into.destinations.insert_or_assign(
        webhook, LeasedBatch::Destination{std::move(target), std::move(host), leased.at});
  }
  std::ranges::move(leased.deliveries, std::back_inserter(into.deliveries));
}

/// Met again at every look until the newer version has taken them: told once a minute.
void Intake::report_left(std::string_view what, std::size_t count) {
  const auto now = monotonic_now();
  if (count == 0 || now < next_left_report_) return;
  log_.info(
      "left to a newer version of the dispatcher: this one does not know their event (or may not read the "
      "table migraciones: sql/grants)",
      {{what, count}});
  next_left_report_ = now + report_interval;
}

}  // namespace dispatcher
