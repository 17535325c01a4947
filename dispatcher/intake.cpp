#include "intake.hpp"

#include <algorithm>

namespace dispatcher {

namespace {

using platform::MonotonicTime;
using namespace std::chrono_literals;

constexpr unsigned webhooks_per_claim = 64;
constexpr unsigned entities_per_expansion = 64;
constexpr unsigned notifications_per_entity = 4;  // at least, if it has them: each entity costs a seek or two
constexpr unsigned entities_ahead = 16;
constexpr unsigned notifications_ahead = 16;  // of each
constexpr unsigned webhooks_per_entity = 5;   // spec
constexpr auto failed_wait = 5s;              // of an entity whose expansion the database refuses
constexpr auto not_receiving_wait = 1s;       // before a webhook that may not receive is looked at again

MonotonicTime monotonic_now() { return std::chrono::steady_clock::now(); }

std::vector<store::EntityId> entities_of(const std::vector<store::TakeRequest>& requests) {
  std::vector<store::EntityId> result;
  for (const auto& request : requests) result.push_back(request.entity);
  return result;
}

/// Tells the agenda how far each entity was expanded.
void note_expanded(EntityAgenda& agenda, const std::vector<store::TakeRequest>& requests,
                   const std::vector<store::PendingNotification>& taken, const ExpansionPlan& plan) {
  std::map<store::EntityId, store::NotificationId> last_taken;
  std::map<store::EntityId, unsigned> counts;
  for (const auto& notification : taken) {
    last_taken[notification.entity] = notification.id;
    ++counts[notification.entity];
  }
  for (const auto& request : requests) {
    const auto done = plan.done.find(request.entity);
    const bool all_done = counts[request.entity] == 0 ||
                          (done != plan.done.end() && done->second == last_taken[request.entity]);
    if (all_done && counts[request.entity] < request.limit) {
      agenda.finished(request.entity);
      continue;
    }
    if (done != plan.done.end()) agenda.advance(request.entity, done->second);
    if (plan.crowded.contains(request.entity)) agenda.crowd(request.entity);
  }
}

Shipment ship(const std::vector<store::BornDelivery>& born,
              const std::vector<store::PendingNotification>& taken,
              const std::map<store::EntityId, store::Recipient>& recipients, std::uint64_t lease) {
  Shipment shipment;
  for (const auto& [id, recipient] : recipients) {
    for (const auto& subscriber : recipient.webhooks) {
      shipment.destinations.emplace(subscriber.target.webhook,
                                    Shipment::Destination{subscriber.target, subscriber.probing});
    }
  }
  std::map<store::NotificationId, const store::PendingNotification*> by_id;
  for (const auto& notification : taken) by_id.emplace(notification.id, &notification);
  for (const auto& delivery : born) {
    const auto& notification = *by_id.at(delivery.notification);
    shipment.deliveries.push_back({.id = delivery.id,
                                   .webhook = delivery.webhook,
                                   .notification = notification.id,
                                   .entity = notification.entity,
                                   .lease = lease,
                                   .event = webhook::find_event(notification.event).value(),
                                   .occurred = notification.occurred.value(),
                                   .created = delivery.created,
                                   .data = notification.data});
  }
  return shipment;
}

}  // namespace

Intake::Intake(const platform::DeliverySettings& settings, const platform::Log& log)
    : settings_(settings), log_(log), random_(std::random_device{}()), ahead_pacer_(10) {}

store::Lease Intake::new_lease() { return {random_(), settings_.lease}; }

std::vector<store::ClaimRequest> Intake::plan_claims(const std::vector<store::ReceivingWebhook>& receiving,
                                                     const std::vector<WebhookAgenda::Due>& due,
                                                     const Slots& slots) const {
  std::vector<store::ClaimRequest> requests;
  Slots::Plan planned(slots, monotonic_now());
  for (const auto& [webhook, from] : due) {
    const auto found = std::ranges::find(receiving, webhook, [](const auto& r) { return r.target.webhook; });
    if (found == receiving.end()) continue;
    const unsigned count = planned.available(webhook, found->probing);
    if (count == 0) continue;
    for (unsigned n = 0; n < count; ++n) planned.take(webhook, found->probing);
    requests.push_back({webhook, count, from});
  }
  return requests;
}

Shipment Intake::claim(store::Session& session, Lookout& lookout, const Slots& slots) {
  auto& agenda = lookout.webhooks();
  std::vector<WebhookAgenda::Due> due;
  std::vector<store::WebhookId> ids;
  for (const auto& webhook : agenda.due(monotonic_now())) {
    if (ids.size() == webhooks_per_claim || slots.full()) break;
    if (slots.available(webhook.webhook, false, monotonic_now()) == 0) continue;
    due.push_back(webhook);
    ids.push_back(webhook.webhook);
  }
  if (ids.empty()) return {};
  agenda.turn_ended(ids.back());
  const auto receiving = store::load_receiving(session, ids);
  for (const auto id : ids) {
    if (std::ranges::none_of(receiving, [&](const auto& r) { return r.target.webhook == id; }))
      agenda.postpone(id, monotonic_now() + not_receiving_wait);
  }
  const auto requests = plan_claims(receiving, due, slots);
  if (requests.empty()) return {};
  Shipment shipment;
  shipment.leased_at = monotonic_now();
  auto claimed = store::claim(session, requests, new_lease());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& reach = claimed.reached[i];
    if (reach.found < requests[i].limit) {
      agenda.finished(reach.webhook);
    } else {
      agenda.advance(reach.webhook, reach.last);
    }
  }
  shipment.worked = !claimed.deliveries.empty();
  shipment.deliveries = std::move(claimed.deliveries);
  for (const auto& webhook : receiving)
    shipment.destinations.emplace(webhook.target.webhook,
                                  Shipment::Destination{webhook.target, webhook.probing});
  return shipment;
}

Shipment Intake::expand(store::Session& session, Lookout& lookout, const Slots& slots) {
  const unsigned room = slots.free();
  if (room == 0) return {};
  const unsigned most =
      expand_alone_ > 0 ? 1 : std::clamp(room / notifications_per_entity, 1U, entities_per_expansion);
  auto requests = lookout.entities().next(EntityAgenda::Pick::ready, most, 1, monotonic_now());
  if (requests.empty()) return {};
  // No more of one entity than its webhooks could ever have in flight.
  const unsigned share = std::clamp(room / static_cast<unsigned>(requests.size()), 1U,
                                    webhooks_per_entity * settings_.max_in_flight_per_webhook);
  for (auto& request : requests) request.limit = share;
  return expand_carefully(session, lookout, requests, slots, Ahead::no);
}

Shipment Intake::expand_ahead(store::Session& session, Lookout& lookout, const Slots& slots) {
  const auto start = monotonic_now();
  if (!ahead_pacer_.due(start)) return {};
  const auto requests = lookout.entities().next(
      EntityAgenda::Pick::crowded, expand_alone_ > 0 ? 1 : entities_ahead, notifications_ahead, start);
  if (requests.empty()) return {};
  auto shipment = expand_carefully(session, lookout, requests, slots, Ahead::yes);
  ahead_pacer_.ran(start, monotonic_now(), 0ms);
  return shipment;
}

/// When the database refuses a batch, its entities are taken one by one for a while, and the one to blame
/// waits: the others go on without it.
Shipment Intake::expand_carefully(store::Session& session, Lookout& lookout,
                                  const std::vector<store::TakeRequest>& requests, const Slots& slots,
                                  Ahead ahead) {
  if (expand_alone_ > 0) --expand_alone_;
  try {
    return expand(session, lookout, requests, slots, ahead);
  } catch (const store::Unavailable&) {
    throw;
  } catch (const store::DatabaseError&) {
    if (requests.size() > 1) {
      expand_alone_ = static_cast<unsigned>(requests.size());
    } else {
      lookout.entities().postpone(requests.front().entity, monotonic_now() + failed_wait);
    }
    throw;
  }
}

Shipment Intake::expand(store::Session& session, Lookout& lookout,
                        const std::vector<store::TakeRequest>& requests, const Slots& slots, Ahead ahead) {
  const auto lease = new_lease();
  std::vector<store::PendingNotification> taken;
  std::map<store::EntityId, store::Recipient> recipients;
  ExpansionPlan plan;
  const auto leased_at = monotonic_now();
  const auto born = store::transaction(session, [&] {
    taken = store::take_pending(session, requests);
    recipients = store::load_recipients(session, entities_of(requests));
    plan = plan_expansion(taken, recipients, Slots::Plan(slots, leased_at), ahead);
    return store::write_expansion(session, plan.expansion, lease);
  });
  for (const auto& [id, reason] : plan.expansion.rejected) {
    log_.warning("notification rejected", {{"notification", id}, {"reason", reason}});
  }
  note_expanded(lookout.entities(), requests, taken, plan);
  for (const auto& delivery : plan.expansion.deliveries) {
    if (delivery.state == store::BornState::pending) lookout.webhooks().waits(delivery.webhook, leased_at);
  }
  auto shipment = ship(born, taken, recipients, lease.token);
  shipment.leased_at = leased_at;
  shipment.worked = !plan.done.empty();
  return shipment;
}

}  // namespace dispatcher
