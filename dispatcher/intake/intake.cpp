#include "intake/intake.hpp"

#include <algorithm>
#include <set>

namespace dispatcher {

namespace {

using platform::monotonic_now;
using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned webhooks_per_claim = 64;
constexpr unsigned entities_per_fan_out = 64;
constexpr unsigned notifications_per_entity = 4;  // at least, if it has them: each entity costs a seek or two
constexpr unsigned entities_ahead = 16;
constexpr unsigned notifications_ahead = 16;  // of each
constexpr unsigned webhooks_per_entity = 5;   // spec
constexpr auto failed_wait = 5s;              // of a webhook whose claim the database refuses
constexpr auto longest_rest = 60s;            // before a resting webhook is looked at again
constexpr auto not_receiving_wait = 1s;       // before a webhook that may not receive is looked at again

std::vector<delivery::EntityId> entities_of(const std::vector<store::TakeRequest>& requests) {
  std::vector<delivery::EntityId> result;
  result.reserve(requests.size());
  for (const auto& request : requests) result.push_back(request.entity);
  return result;
}

/// Tells the ready set how far each entity was fanned out.
void note_fanned_out(ReadyEntities& ready, const std::vector<store::TakeRequest>& requests,
                     const store::Taken& taken, const FanOutPlan& plan) {
  std::map<delivery::EntityId, delivery::NotificationId> last_taken;
  for (const auto& notification : taken.notifications) last_taken[notification.entity] = notification.id;
  for (const auto& request : requests) {
    const auto done = plan.done.find(request.entity);
    const auto last = last_taken.find(request.entity);
    const bool all_done =
        last == last_taken.end() || (done != plan.done.end() && done->second == last->second);
    const auto found = taken.found.find(request.entity);
    if (all_done && (found == taken.found.end() || found->second < request.limit)) {
      ready.finished(request.entity);
      continue;
    }
    if (done != plan.done.end()) ready.advance(request.entity, done->second);
    if (plan.busy.contains(request.entity)) ready.mark_busy(request.entity);
  }
}

/// Takes those that rest, or may not receive at all, out of the ready set and of `receiving`. True: there
/// were some.
bool quarantine_who_cannot(ReadyWebhooks& ready, const std::vector<delivery::WebhookId>& ids,
                           std::vector<store::ReceivingWebhook>& receiving) {
  const auto now = monotonic_now();
  std::set<delivery::WebhookId> gone(ids.begin(), ids.end());
  for (const auto& webhook : receiving) gone.erase(webhook.target.webhook);
  for (const auto id : gone) ready.quarantine(id, now + not_receiving_wait);
  const auto resting = std::erase_if(receiving, [&](const auto& webhook) {
    if (webhook.rest.count() == 0) return false;
    ready.postpone(webhook.target.webhook,
                   now + std::min<platform::Milliseconds>(webhook.rest, longest_rest));
    return true;
  });
  return !gone.empty() || resting > 0;
}

LeasedBatch make_batch(const std::vector<store::CreatedDelivery>& created,
                       const std::vector<store::PendingNotification>& taken,
                       const std::map<delivery::EntityId, store::Recipient>& recipients,
                       std::uint64_t lease) {
  LeasedBatch leased_batch;
  for (const auto& [id, recipient] : recipients) {
    for (const auto& subscriber : recipient.webhooks) {
      leased_batch.destinations.emplace(subscriber.target.webhook,
                                        LeasedBatch::Destination{subscriber.target, subscriber.probing});
    }
  }
  std::map<delivery::NotificationId, const store::PendingNotification*> by_id;
  for (const auto& notification : taken) by_id.emplace(notification.id, &notification);
  for (const auto& delivery : created) {
    const auto& notification = *by_id.at(delivery.notification);
    leased_batch.deliveries.push_back({.id = delivery.id,
                                       .webhook = delivery.webhook,
                                       .notification = notification.id,
                                       .entity = notification.entity,
                                       .lease = lease,
                                       .event = webhook::find_event(notification.event).value(),
                                       .occurred = notification.occurred.value(),
                                       .created = delivery.created,
                                       .data = notification.data});
  }
  return leased_batch;
}

}  // namespace

Intake::Intake(const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics)
    : settings_(settings), log_(log), metrics_(metrics), random_(std::random_device{}()), ahead_pacer_(10) {}

store::Lease Intake::new_lease() { return {random_(), settings_.lease}; }

/// One slot at a time, in rounds: with more demand than slots, all get some.
std::vector<store::ClaimRequest> Intake::plan_claims(const std::vector<store::ReceivingWebhook>& receiving,
                                                     const std::vector<ReadyWebhooks::Due>& due,
                                                     const delivery::Slots& slots) {
  delivery::Slots::Plan plan(slots, monotonic_now());
  std::vector<store::ClaimRequest> requests;
  requests.reserve(due.size());
  for (const auto& [webhook, from] : due) requests.push_back({webhook, 0, from});
  for (bool any = true; any;) {
    any = false;
    for (auto& request : requests) {
      const auto found =
          std::ranges::find(receiving, request.webhook, [](const auto& r) { return r.target.webhook; });
      if (found == receiving.end() || plan.available(request.webhook, found->probing) == 0) continue;
      plan.take(request.webhook, found->probing);
      ++request.limit;
      any = true;
    }
  }
  std::erase_if(requests, [](const auto& request) { return request.limit == 0; });
  return requests;
}

/// The next webhooks in turn that may have a free slot.
std::vector<ReadyWebhooks::Due> Intake::next_due(const ReadyWebhooks& ready,
                                                 const delivery::Slots& slots) const {
  std::vector<ReadyWebhooks::Due> result;
  const std::size_t most = claim_alone_ > 0 ? 1 : webhooks_per_claim;
  const auto now = monotonic_now();
  for (const auto& webhook : ready.due(now)) {
    if (result.size() == most || slots.full()) break;
    if (slots.available(webhook.webhook, false, now) > 0) result.push_back(webhook);
  }
  return result;
}

LeasedBatch Intake::claim(store::Session& session, QueueScanner& scanner, const delivery::Slots& slots) {
  auto& ready = scanner.webhooks();
  const auto due = next_due(ready, slots);
  if (due.empty()) return {};
  if (claim_alone_ > 0) --claim_alone_;
  try {
    return claim(session, ready, due, slots);
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::DatabaseError&) {
    // Somebody holds a row of one of them, or the database refuses it: the others go on without it.
    if (due.size() > 1) {
      claim_alone_ = static_cast<unsigned>(due.size());
    } else {
      ready.turn_ended(due.front().webhook);
      ready.postpone(due.front().webhook, monotonic_now() + failed_wait);
    }
    throw;
  }
}

LeasedBatch Intake::claim(store::Session& session, ReadyWebhooks& ready,
                          const std::vector<ReadyWebhooks::Due>& due, const delivery::Slots& slots) {
  std::vector<delivery::WebhookId> ids;
  ids.reserve(due.size());
  for (const auto& webhook : due) ids.push_back(webhook.webhook);
  auto receiving = store::load_receiving(session, ids);
  LeasedBatch leased_batch;
  leased_batch.worked = quarantine_who_cannot(ready, ids, receiving);
  ready.turn_ended(ids.back());
  const auto requests = plan_claims(receiving, due, slots);
  if (requests.empty()) return leased_batch;
  // Who was looked at and got nothing, for want of slots, comes first the next time.
  ready.turn_ended(requests.back().webhook);
  leased_batch.leased_at = monotonic_now();
  auto claimed = store::claim(session, requests, new_lease());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& reach = claimed.reached[i];
    if (reach.found < requests[i].limit) {
      ready.finished(reach.webhook);
    } else {
      ready.advance(reach.webhook, reach.last);
    }
  }
  leased_batch.worked = leased_batch.worked || !claimed.deliveries.empty();
  leased_batch.deliveries = std::move(claimed.deliveries);
  for (const auto& webhook : receiving)
    leased_batch.destinations.emplace(webhook.target.webhook,
                                      LeasedBatch::Destination{webhook.target, webhook.probing});
  return leased_batch;
}

LeasedBatch Intake::fan_out(store::Session& session, QueueScanner& scanner, const delivery::Slots& slots) {
  const unsigned room = slots.free();
  if (room == 0) return {};
  const unsigned most =
      fan_out_alone_ > 0 ? 1 : std::clamp(room / notifications_per_entity, 1U, entities_per_fan_out);
  auto requests = scanner.entities().next(ReadyEntities::Pick::ready, most, 1, monotonic_now());
  if (requests.empty()) return {};
  // No more of one entity than its webhooks could ever have in flight.
  const unsigned share = std::clamp(room / static_cast<unsigned>(requests.size()), 1U,
                                    webhooks_per_entity * settings_.max_in_flight_per_webhook);
  for (auto& request : requests) request.limit = share;
  return fan_out_isolated(session, scanner, requests, slots, Ahead::no);
}

LeasedBatch Intake::fan_out_ahead(store::Session& session, QueueScanner& scanner,
                                  const delivery::Slots& slots) {
  const auto start = monotonic_now();
  if (!ahead_pacer_.due(start)) return {};
  const auto requests = scanner.entities().next(
      ReadyEntities::Pick::busy, fan_out_alone_ > 0 ? 1 : entities_ahead, notifications_ahead, start);
  if (requests.empty()) return {};
  auto leased_batch = fan_out_isolated(session, scanner, requests, slots, Ahead::yes);
  ahead_pacer_.ran(start, monotonic_now(), 0ms, 1s);
  return leased_batch;
}

/// When the database refuses a batch, its entities are taken one by one for a while, and the one to blame
/// waits: the others go on without it.
LeasedBatch Intake::fan_out_isolated(store::Session& session, QueueScanner& scanner,
                                     const std::vector<store::TakeRequest>& requests,
                                     const delivery::Slots& slots, Ahead ahead) {
  if (fan_out_alone_ > 0) --fan_out_alone_;
  try {
    return fan_out(session, scanner, requests, slots, ahead);
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::DatabaseError&) {
    if (requests.size() > 1) {
      fan_out_alone_ = static_cast<unsigned>(requests.size());
    } else {
      scanner.entities().failed(requests.front().entity, monotonic_now());
    }
    throw;
  }
}

LeasedBatch Intake::fan_out(store::Session& session, QueueScanner& scanner,
                            const std::vector<store::TakeRequest>& requests, const delivery::Slots& slots,
                            Ahead ahead) {
  const auto lease = new_lease();
  store::Taken taken;
  std::map<delivery::EntityId, store::Recipient> recipients;
  FanOutPlan plan;
  const auto leased_at = monotonic_now();
  const auto created = store::transaction(session, [&] {
    taken = store::take_pending(session, requests);
    recipients = store::load_recipients(session, entities_of(requests));
    plan = plan_fan_out(taken.notifications, recipients, delivery::Slots::Plan(slots, leased_at), ahead);
    return store::write_fan_out(session, plan.fan_out, lease);
  });
  for (const auto& [id, reason] : plan.fan_out.rejected) {
    log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  }
  metrics_.processed.add(plan.fan_out.processed.size());
  metrics_.rejected.add(plan.fan_out.rejected.size());
  note_fanned_out(scanner.entities(), requests, taken, plan);
  if (plan.full) scanner.entities().resume_at(plan.left_at);
  for (const auto& delivery : plan.fan_out.deliveries) {
    if (delivery.state == delivery::DeliveryState::pending)
      scanner.webhooks().waits(delivery.webhook, leased_at);
  }
  auto leased_batch = make_batch(created, taken.notifications, recipients, lease.token);
  leased_batch.leased_at = leased_at;
  leased_batch.worked = !plan.done.empty();
  return leased_batch;
}

}  // namespace dispatcher
