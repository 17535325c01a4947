#include "dispatcher/fan_out/fan_out_plan.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "lib/webhook/event_data.hpp"
#include "lib/webhook/target_url.hpp"

namespace dispatcher {

namespace {

const store::Recipient* find_recipient(const std::map<delivery::EntityId, store::Recipient>& recipients,
                                       delivery::EntityId entity) {
  const auto found = recipients.find(entity);
  return found == recipients.end() ? nullptr : &found->second;
}

std::optional<std::string> reason_to_reject(const JudgedNotification& notification,
                                            const store::Recipient* recipient) {
  const std::string entity = "entidad_id: la entidad " + to_string(notification.entity);
  if (recipient == nullptr) return entity + " no existe";
  if (!recipient->active) return entity + " está desactivada";
  return notification.wrong;
}

/// Checks again what the table's CHECKs check: the session that wrote the row may have disabled them.
std::optional<std::string> what_is_wrong(const store::PendingNotification& notification) {
  if (!notification.occurred) return "ocurrida_en: no es una fecha del calendario";
  if (*notification.occurred < platform::UtcTime{}) return "ocurrida_en: es anterior a 1970";
  if (!notification.event) return "evento: no es uno de los 11 eventos";
  if (!notification.valid_key) return "clave: debe tener de 1 a 64 caracteres";
  static_assert(store::longest_data == 65536);
  if (!notification.data) return "datos: tiene más de 65536 bytes";
  return webhook::check_event_data(*notification.event, *notification.data);
}

/// `webhooks`: those that got a pending delivery, so that their later deliveries must be pending, too.
/// `for_others`: true if a webhook of the present notification must wait for other webhooks. Such a webhook
/// got no slot, although no attempt of its own is under way and all its results are recorded
/// (FairSlots::holds_any is false).
struct Waiting {
  std::set<delivery::WebhookId> webhooks;
  bool for_others = false;
};

/// Returns the state with which fan-out is to create the subscriber's delivery. If the state is `leased`, the
/// function has taken a slot.
delivery::DeliveryState state_for(const store::Subscriber& subscriber, const JudgedNotification& notification,
                                  Waiting& waiting, Grants& slots) {
  const auto webhook = subscriber.target.webhook;
  if (!subscriber.active) return delivery::DeliveryState::held;
  if (notification.expired) return delivery::DeliveryState::pending;
  const bool in_turn = !subscriber.backlog && !subscriber.resting && !waiting.webhooks.contains(webhook);
  if (in_turn &&
      slots.take_new(destination_of(subscriber.target, notification.entity, subscriber.one_at_a_time)))
    return delivery::DeliveryState::leased;
  waiting.webhooks.insert(webhook);
  waiting.for_others = waiting.for_others || (in_turn && !slots.holds_any(webhook));
  return delivery::DeliveryState::pending;
}

std::vector<store::NewDelivery> deliveries_of(const JudgedNotification& notification,
                                              const store::Recipient& recipient, Waiting& waiting,
                                              Grants& slots) {
  std::vector<store::NewDelivery> result;
  for (const auto& subscriber : recipient.webhooks) {
    if (!subscriber.events.contains(*notification.event)) continue;
    result.push_back({notification.id, subscriber.target.webhook, *notification.event,
                      state_for(subscriber, notification, waiting, slots), notification.urgent});
  }
  return result;
}

/// True: at least one delivery must wait, and none can be sent.
bool would_only_wait(const std::vector<store::NewDelivery>& deliveries) {
  const auto count = [&](delivery::DeliveryState state) {
    return std::ranges::count(deliveries, state, &store::NewDelivery::state);
  };
  return count(delivery::DeliveryState::pending) > 0 && count(delivery::DeliveryState::leased) == 0;
}

/// Adds one notification after the other to a plan.
class Planner {
 public:
  Planner(const std::map<delivery::EntityId, store::Recipient>& recipients, Grants& slots, Ahead ahead)
      : recipients_(recipients), slots_(slots), ahead_(ahead) {}

  void add(const JudgedNotification& notification) {
    plan_.outcomes.emplace(notification.id, plan(notification));
  }

  FanOutPlan take() { return std::move(plan_); }

 private:
  Outcome plan(const JudgedNotification& notification) {
    if (notification.later && !notification.wrong) {
      plan_.fan_out.deferred.push_back(notification.id);
      return Outcome::written;
    }
    const auto* recipient = find_recipient(recipients_, notification.entity);
    if (recipient != nullptr && recipient->locked) return Outcome::recipient_locked;
    if (auto reason = reason_to_reject(notification, recipient)) {
      plan_.fan_out.rejected.push_back({notification.id, std::move(*reason)});
      return Outcome::rejected;
    }
    if (full_) return Outcome::no_slot;
    if (busy_.contains(notification.entity) && !notification.urgent) return Outcome::busy;
    return add_deliveries(notification, *recipient);
  }

  /// Adds the notification's deliveries to the plan. With Ahead::no, adds none if at least one would be
  /// pending and none would be leased: the notification waits instead. If no slot is free for it (`no_slot`),
  /// it waits until any attempt ends. Otherwise (`busy`) it waits until the result of one of the entity's
  /// webhooks is recorded, or until a call with Ahead::yes. An urgent one does not wait. Exception: if a slot
  /// is free and one of the webhooks waits for other webhooks, the deliveries are added, because that webhook
  /// has no result to wait for.
  Outcome add_deliveries(const JudgedNotification& notification, const store::Recipient& recipient) {
    const bool full = slots_.full_for(notification.entity);
    waiting_.for_others = false;
    const auto deliveries = deliveries_of(notification, recipient, waiting_, slots_);
    if (ahead_ == Ahead::no && !notification.expired && !notification.urgent && would_only_wait(deliveries) &&
        (full || !waiting_.for_others)) {
      full_ = slots_.full();
      if (full) return Outcome::no_slot;
      busy_.insert(notification.entity);
      return Outcome::busy;
    }
    const bool frees_key = deliveries.empty() && notification.has_key;
    (frees_key ? plan_.fan_out.unreached : plan_.fan_out.processed).push_back(notification.id);
    std::ranges::copy(deliveries, std::back_inserter(plan_.fan_out.deliveries));
    return Outcome::written;
  }

  const std::map<delivery::EntityId, store::Recipient>& recipients_;
  Grants& slots_;
  Ahead ahead_;
  FanOutPlan plan_;
  Waiting waiting_;
  std::set<delivery::EntityId> busy_;
  bool full_ = false;  // no slot is free: further notifications are left
};

}  // namespace

std::vector<store::PendingNotification> cut_batch(std::vector<store::PendingNotification>& notifications,
                                                  std::uint64_t most_bytes) {
  std::set<delivery::EntityId> stopped;
  std::uint64_t bytes = 0;
  const auto has_room = [&](const store::PendingNotification& notification) {
    if (stopped.contains(notification.entity)) return false;
    if (notification.data || notification.bytes > store::longest_data) return true;
    if (bytes > 0 && bytes + notification.bytes > most_bytes) {
      stopped.insert(notification.entity);
      return false;
    }
    bytes += notification.bytes;
    return true;
  };
  std::vector<store::PendingNotification> kept;
  std::vector<store::PendingNotification> cut;
  for (auto& notification : notifications)
    (has_room(notification) ? kept : cut).push_back(std::move(notification));
  notifications = std::move(kept);
  return cut;
}

JudgedNotification judge(store::PendingNotification notification) {
  auto wrong = what_is_wrong(notification);
  return {notification.id,
          notification.entity,
          notification.event,
          notification.occurred,
          std::move(notification.data).value_or(""),
          notification.expired,
          notification.has_key,
          notification.urgent,
          notification.later,
          std::move(wrong)};
}

FanOutPlan plan_fan_out(const std::vector<JudgedNotification>& notifications,
                        const std::map<delivery::EntityId, store::Recipient>& recipients, Grants& slots,
                        Ahead ahead) {
  Planner planner(recipients, slots, ahead);
  for (const auto& notification : notifications) planner.add(notification);
  return planner.take();
}

}  // namespace dispatcher
