#include "intake/intake.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "store/session/isolate.hpp"
#include "webhook/target_url.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned webhooks_per_claim = 64;
constexpr unsigned deliveries_per_claim = 512;
constexpr unsigned entities_per_fan_out = 64;
constexpr unsigned notifications_per_entity = 4;  // at least, if it has them: each entity costs a seek or two
constexpr unsigned entities_ahead = 16;
constexpr unsigned notifications_ahead = 16;  // of each
constexpr unsigned webhooks_per_entity = 5;   // docs/api.md
constexpr auto refused_wait = 5s;             // of a webhook whose deliveries the database refuses to lease
constexpr auto locked_wait = 50ms;            // before a row that somebody holds is tried again
constexpr auto report_interval = 1min;        // of what is left to a newer version
constexpr auto longest_rest = 60s;            // before a resting webhook is looked at again
constexpr auto not_receiving_wait = 1s;       // before a webhook that may not receive is looked at again

std::vector<delivery::EntityId> entities_of(const std::vector<store::TakeRequest>& requests) {
  std::vector<delivery::EntityId> result;
  result.reserve(requests.size());
  for (const auto& request : requests) result.push_back(request.entity);
  return result;
}

/// Tells the ready set how far an entity was fanned out: past what was done and past what was left to a newer
/// version, not past what somebody else holds.
void note_fanned_out(ReadyEntities& ready, const store::TakeRequest& request,
                     const store::Taken::Reach& reach, std::optional<delivery::NotificationId> last_taken,
                     const FanOutPlan& plan) {
  const auto done = plan.done.find(request.entity);
  const bool any_done = done != plan.done.end();
  if (reach.last_left > 0) ready.left_some(request.entity);
  const bool all_done = !last_taken || (any_done && done->second == *last_taken);
  if (all_done && reach.found < request.limit) return ready.finished(request.entity);
  const auto last = std::max(any_done ? done->second : 0, all_done ? reach.last_left : 0);
  if (last > 0) ready.advance(request.entity, last);
  if (plan.busy.contains(request.entity)) ready.mark_busy(request.entity);
  if (plan.locked.contains(request.entity)) ready.postpone(request.entity, monotonic_now() + locked_wait);
}

void note_fanned_out(ReadyEntities& ready, const std::vector<store::TakeRequest>& requests,
                     const store::Taken& taken, const FanOutPlan& plan) {
  std::map<delivery::EntityId, delivery::NotificationId> last_taken;
  for (const auto& notification : taken.notifications) last_taken[notification.entity] = notification.id;
  for (const auto& request : requests) {
    const auto reach = taken.reached.find(request.entity);
    const auto last = last_taken.find(request.entity);
    note_fanned_out(ready, request, reach == taken.reached.end() ? store::Taken::Reach{} : reach->second,
                    last == last_taken.end() ? std::nullopt : std::optional(last->second), plan);
  }
}

/// Tells the ready set, and the slots, how far each webhook was claimed.
void note_claimed(ReadyWebhooks& ready, delivery::FairSlots& slots,
                  const std::vector<store::ClaimRequest>& requests, const store::Claim& claim) {
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
bool quarantine_who_cannot(ReadyWebhooks& ready, delivery::FairSlots& slots,
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

std::vector<store::ClaimRequest> plan_claims(const delivery::FairSlots::Candidates& candidates,
                                             const ReadyWebhooks& ready, const delivery::FairSlots& slots,
                                             delivery::Grants& grants) {
  std::vector<store::ClaimRequest> requests;
  for (const auto& [webhook, count] : delivery::share_out(slots, candidates, deliveries_per_claim, grants))
    requests.push_back({webhook, count, ready.after(webhook)});
  return requests;
}

void append_created(LeasedBatch& into, const std::vector<store::CreatedDelivery>& created,
                    const std::vector<store::PendingNotification>& taken,
                    const std::map<delivery::EntityId, store::Recipient>& recipients, std::uint64_t lease) {
  for (const auto& [id, recipient] : recipients) {
    for (const auto& subscriber : recipient.webhooks) {
      into.destinations.emplace(
          subscriber.target.webhook,
          LeasedBatch::Destination{subscriber.target, webhook::host_and_port(subscriber.target.url)});
    }
  }
  std::map<delivery::NotificationId, const store::PendingNotification*> by_id;
  for (const auto& notification : taken) by_id.emplace(notification.id, &notification);
  for (const auto& delivery : created) {
    const auto& notification = *by_id.at(delivery.notification);
    into.deliveries.push_back({.id = delivery.id,
                               .webhook = delivery.webhook,
                               .notification = notification.id,
                               .entity = notification.entity,
                               .lease = lease,
                               .event = *notification.event,
                               .occurred = *notification.occurred,
                               .created = delivery.created,
                               .data = notification.data});
  }
}

}  // namespace

Intake::Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics)
    : settings_(settings), log_(log), metrics_(metrics), random_(std::random_device{}()), ahead_pacer_(10) {}

store::Lease Intake::new_lease() { return {random_(), settings_.lease}; }

/// Those of whom it is not known yet whose they are: their turn is not known either.
std::vector<delivery::WebhookId> Intake::take_due(ReadyWebhooks& ready, delivery::FairSlots& slots) {
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

void Intake::claim(store::Session& session, QueueScanner& scanner, delivery::FairSlots& slots,
                   LeasedBatch& into) {
  auto& ready = scanner.webhooks();
  const auto unidentified = take_due(ready, slots);
  auto candidates = slots.next(webhooks_per_claim);
  candidates.webhooks.insert(candidates.webhooks.end(), unidentified.begin(), unidentified.end());
  if (candidates.webhooks.empty()) return;
  auto receiving = store::load_receiving(session, candidates.webhooks);
  unidentified_.erase(unidentified_.begin(),
                      unidentified_.begin() + static_cast<std::ptrdiff_t>(unidentified.size()));
  into.worked = quarantine_who_cannot(ready, slots, candidates.webhooks, receiving);
  candidates.webhooks.clear();
  for (const auto& webhook : receiving) {
    slots.identify(destination_of(webhook.target, webhook.entity, webhook.probing));
    slots.wait(webhook.target.webhook);
    candidates.webhooks.push_back(webhook.target.webhook);
  }
  const auto requests = plan_claims(candidates, ready, slots, into.grants);
  if (requests.empty()) return;
  into.leased_at = monotonic_now();
  for (const auto& webhook : receiving)
    into.destinations.emplace(
        webhook.target.webhook,
        LeasedBatch::Destination{webhook.target, webhook::host_and_port(webhook.target.url)});
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

void Intake::claim_part(store::Session& session, ReadyWebhooks& ready, delivery::FairSlots& slots,
                        const std::vector<store::ClaimRequest>& requests, LeasedBatch& into) {
  auto claimed = store::claim(session, requests, new_lease());
  note_claimed(ready, slots, requests, claimed);
  std::size_t unreadable = 0;
  for (const auto& reach : claimed.reached) unreadable += reach.unreadable;
  into.worked = into.worked || !claimed.deliveries.empty() || unreadable > 0;
  std::ranges::move(claimed.deliveries, std::back_inserter(into.deliveries));
  report_left("deliveries", unreadable);
}

void Intake::fan_out(store::Session& session, QueueScanner& scanner, delivery::FairSlots& slots,
                     LeasedBatch& into) {
  const unsigned room = slots.free();
  if (room == 0) return;
  const unsigned most = std::clamp(room / notifications_per_entity, 1U, entities_per_fan_out);
  auto requests = scanner.entities().next(ReadyEntities::Pick::ready, most, 1, monotonic_now());
  if (requests.empty()) return;
  // No more of one entity than its webhooks could ever have in flight.
  const unsigned share = std::clamp(room / static_cast<unsigned>(requests.size()), 1U,
                                    webhooks_per_entity * settings_.max_in_flight_per_webhook);
  for (auto& request : requests) request.limit = share;
  fan_out(session, scanner, requests, slots, Ahead::no, into);
}

void Intake::fan_out_ahead(store::Session& session, QueueScanner& scanner, delivery::FairSlots& slots,
                           LeasedBatch& into) {
  const auto start = monotonic_now();
  if (!ahead_pacer_.due(start)) return;
  const auto requests =
      scanner.entities().next(ReadyEntities::Pick::busy, entities_ahead, notifications_ahead, start);
  if (requests.empty()) return;
  fan_out(session, scanner, requests, slots, Ahead::yes, into);
  ahead_pacer_.ran(start, monotonic_now(), 0ms, 1s);
}

void Intake::fan_out(store::Session& session, QueueScanner& scanner,
                     const std::vector<store::TakeRequest>& requests, delivery::FairSlots& slots, Ahead ahead,
                     LeasedBatch& into) {
  into.leased_at = monotonic_now();
  Turn turn{slots, ahead};
  store::isolate(
      requests,
      [&](const std::vector<store::TakeRequest>& part) { fan_out_part(session, scanner, part, turn, into); },
      [&](const store::TakeRequest& request, const store::Refused&) {
        fan_out_one_by_one(session, scanner, request, turn, into);
      });
}

/// Up to the notification that the database refuses: what was there before it is delivered.
void Intake::fan_out_one_by_one(store::Session& session, QueueScanner& scanner,
                                const store::TakeRequest& request, Turn& turn, LeasedBatch& into) {
  try {
    store::TakeRequest one{request.entity, request.after, 1};
    for (unsigned i = 0; i < request.limit; ++i) {
      const auto passed = fan_out_part(session, scanner, {one}, turn, into);
      if (!passed.contains(request.entity)) return;
      one.after = passed.at(request.entity);
    }
  } catch (const store::Refused& error) {
    scanner.entities().failed(request.entity, monotonic_now());
    log_.error("the database refuses to fan out a notification of an entity; the others go on",
               {{"duty", "fan-out"}, {"entity", request.entity}, {"error", error.what()}});
  }
}

/// How far it got with each entity.
std::map<delivery::EntityId, delivery::NotificationId> Intake::fan_out_part(
    store::Session& session, QueueScanner& scanner, const std::vector<store::TakeRequest>& requests,
    Turn& turn, LeasedBatch& into) {
  const auto lease = new_lease();
  store::Taken taken;
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  std::optional<delivery::Grants> grants;
  const auto created = store::transaction(session, [&] {
    taken = store::take_pending(session, requests);
    recipients = store::load_recipients(session, entities_of(requests));
    grants.emplace(turn.slots);
    plan = plan_fan_out(taken.notifications, recipients, *grants, turn.ahead);
    return store::write_fan_out(session, plan.fan_out, lease);
  });
  into.grants.add(std::move(*grants));
  note_fanned_out(scanner.entities(), requests, taken, plan);
  if (plan.full && !std::exchange(turn.full, true)) scanner.entities().resume_at(plan.left_at);
  for (const auto& delivery : plan.fan_out.deliveries) {
    if (delivery.state == delivery::DeliveryState::pending)
      scanner.webhooks().waits(delivery.webhook, into.leased_at);
  }
  append_created(into, created, taken.notifications, recipients, lease.token);
  into.worked = into.worked || !plan.done.empty() || taken.left > 0;
  report(plan.fan_out);
  report_left("notifications", taken.left);
  auto passed = plan.done;
  for (const auto& [entity, reach] : taken.reached) {
    if (reach.last_left > 0) passed[entity] = std::max(passed[entity], reach.last_left);
  }
  return passed;
}

void Intake::report(const store::FanOut& fan_out) const {
  for (const auto& [id, reason] : fan_out.rejected)
    log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  metrics_.processed.add(fan_out.processed.size());
  metrics_.rejected.add(fan_out.rejected.size());
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
